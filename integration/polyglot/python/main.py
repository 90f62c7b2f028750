"""Reads calls as JSON from standard input and answers them in order: see polyglot_test.go."""

import base64
import hmac
import json
import os
import sys

from jwt.algorithms import HMACAlgorithm

import tokens
from digest import canonical
from tokens import Refusal, b64


def read_ring(jwks):
    """Groups the keys of a JWK Set by their key id; the first seals."""
    ring = {}
    for jwk in jwks["keys"]:
        key_id, purpose = jwk["kid"].split(".")
        ring.setdefault(key_id, {"id": key_id})[purpose] = tokens.unb64(jwk["k"])
    return list(ring.values())


run = json.load(sys.stdin)
ring = read_ring(run["jwks"])
spent = set()


def same(a, b):
    return a is b is None or a is not None and b is not None and hmac.compare_digest(a, b)


def open_token(call):
    if len(call["token"]) > 65_536:
        raise Refusal("too large")
    keys, payload = tokens.authenticate(call["format"], ring, call["token"])
    c = tokens.read_claims(payload)
    if c.get("aud") != call.get("audience"):
        raise Refusal("other audience")
    parts = call.get("principal")
    if not same(c.get("rs_principal"), parts and tokens.principal_tag(keys, c["jti"], parts)):
        raise Refusal("other principal")
    try:
        tag = call.get("method") and tokens.request_tag(keys, c["jti"], call["method"], call["params"].encode())
    except ValueError:
        raise Refusal("other request")
    if not same(c.get("rs_request"), tag):
        raise Refusal("other request")
    if c.get("rs_use") != call.get("use"):
        raise Refusal("other use mode")
    if c["iat"] > call["now"] + 60:
        raise Refusal("not yet valid")
    if call["now"] >= c["exp"]:
        raise Refusal("expired")
    if "rs_use" in c:
        spend(c)
    return {"state": base64.b64encode(c["state"]).decode(), "round": c["round"], "flow": b64(c["flow"])}


def spend(c):
    """A replay store for one run of this program."""
    spent_id = c["jti"] if c["rs_use"] == "single" else c["flow"]
    if b64(c["rs_epoch"]) != run["epoch"]:
        raise Refusal("stale")
    if spent_id in spent:
        raise Refusal("already used")
    spent.add(spent_id)


def seal(call):
    jti, now = os.urandom(16), call["now"]
    state = base64.b64decode(call["state"])
    c = {"jti": b64(jti), "iat": now, "exp": now + 300, "rs_deadline": now + 3600}
    if call.get("audience"):
        c["aud"] = call["audience"]
    if call.get("principal"):
        c["rs_principal"] = b64(tokens.principal_tag(ring[0], jti, call["principal"]))
    if call.get("method"):
        c["rs_request"] = b64(tokens.request_tag(ring[0], jti, call["method"], call["params"].encode()))
    if call.get("use"):
        c["rs_use"], c["rs_epoch"] = call["use"], run["epoch"]
    if call["kind"] == "text":
        c["rs_text"] = state.decode()
    elif call["kind"] == "bytes":
        c["rs_bytes"] = b64(state)
    payload = json.dumps(c)  # with spaces, and escapes for all that is not ASCII
    if call["kind"] == "json":
        payload = payload[:-1] + ', "rs_json": ' + state.decode() + "}"
    return {"token": tokens.seal(call["format"], ring, payload.encode())}


def digest(call):
    try:
        return {"canonical": canonical(call["method"], base64.b64decode(call["params"])).hex()}
    except (ValueError, RecursionError) as e:
        return {"error": str(e)}


def jwk(_):
    """Draws a secret and has PyJWT write it."""
    return {"jwk": json.loads(HMACAlgorithm.to_jwk(os.urandom(48)))}


answers = []
for call in run["calls"]:
    try:
        answers.append({"open": open_token, "seal": seal, "digest": digest, "jwk": jwk}[call["op"]](call))
    except Refusal as e:
        answers.append({"error": str(e)})
json.dump(answers, sys.stdout)
