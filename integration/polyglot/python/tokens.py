"""The JWT formats, from docs/token-format-jwt.md, with PyJWT and cryptography."""

import base64
import hashlib
import hmac
import json
import os
import re

import jwt
from cryptography.hazmat.primitives import keywrap
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from digest import check as check_json
from digest import decoder, request_digest, skip


class Refusal(Exception):
    pass


def b64(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unb64(text):
    """Strict: base64 skips what it does not know, and takes trailing bits."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, UnicodeError):
        raise Refusal("malformed")
    if b64(raw) != text:
        raise Refusal("malformed")
    return raw


LENGTHS = {"jws": [0, 0, 43], "jwe": [0, 54, 16, 0, 22]}


def header(form, key_id):
    head = {"alg": "HS256", "kid": key_id + ".jws", "typ": "mcp-rs+jwt"}
    if form == "jwe":
        head = {"alg": "A256KW", "enc": "A256GCM", "kid": key_id + ".jwe", "typ": "mcp-rs+jwt"}
    return b64(json.dumps(head, sort_keys=True, separators=(",", ":")).encode())


def seal(form, ring, payload):
    keys = ring[0]
    head = header(form, keys["id"])
    if form == "jws":
        signed = head + "." + b64(payload)
        return signed + "." + b64(hmac.digest(keys["jws"], signed.encode(), "sha256"))
    cek, nonce = os.urandom(32), os.urandom(12)
    sealed = AESGCM(cek).encrypt(nonce, payload, head.encode())
    parts = [keywrap.aes_key_wrap(keys["jwe"], cek), nonce, sealed[:-16], sealed[-16:]]
    return ".".join([head] + [b64(p) for p in parts])


def authenticate(form, ring, token):
    parts = token.split(".")
    if [n or len(p) for n, p in zip(LENGTHS[form], parts)] != [len(p) for p in parts] or len(parts) != len(LENGTHS[form]):
        raise Refusal("malformed")
    raw = [unb64(p) for p in parts]
    found = [k for k in ring if header(form, k["id"]) == parts[0]]
    if not found:
        mine = base64.urlsafe_b64decode(header(form, ring[0]["id"]) + "==")
        blank = lambda h: re.sub(rb'"kid":"[\w-]{11}\.', b"", h)
        raise Refusal("unknown key" if blank(mine) == blank(raw[0]) else "malformed")
    keys = found[0]
    try:
        if form == "jws":
            # The checks of the claims are this program's own.
            return keys, jwt.api_jws.PyJWS().decode(token, keys["jws"], algorithms=["HS256"])
        cek = keywrap.aes_key_unwrap(keys["jwe"], raw[1])
        return keys, AESGCM(cek).decrypt(raw[2], raw[3] + raw[4], parts[0].encode())
    except Exception:
        raise Refusal("forged")


def fail():
    raise Refusal("malformed")


def string(value, _):
    return value if isinstance(value, str) and re.match('"', _) else fail()


def base64url(value, raw):
    return fail() if "\\" in raw else unb64(string(value, raw))


def sixteen(value, raw):
    decoded = base64url(value, raw)
    return decoded if len(decoded) == 16 else fail()


def integer(_, raw):
    return int(raw) if re.fullmatch("0|[1-9][0-9]{0,14}", raw) else fail()


TYPES = {
    "jti": sixteen, "iat": integer, "exp": integer, "aud": lambda v, r: string(v, r) or fail(), "rs_deadline": integer, "rs_round": integer,
    "rs_flow": sixteen, "rs_principal": sixteen, "rs_request": sixteen,
    "rs_use": lambda v, r: v if r in ('"single"', '"redemption"') else fail(), "rs_epoch": base64url,
    "rs_json": lambda v, r: r.encode(), "rs_text": lambda v, r: string(v, r).encode(), "rs_bytes": base64url,
}


def members(text):
    """The members of the claims object: name, value and how the value is written."""
    at = skip(text, 0)
    if text[at : at + 1] != "{":
        fail()
    while True:
        start = skip(text, at + 1)
        if text[start : start + 1] != '"':
            fail()
        name, end = decoder.raw_decode(text, start)
        end = skip(text, end)
        if text[end : end + 1] != ":" or "\\" in text[start:end]:
            fail()
        start = skip(text, end + 1)
        value, end = decoder.raw_decode(text, start)
        check_json(value, 100)
        yield name, value, text[start:end]
        at = skip(text, end)
        if text[at : at + 1] == "}" and skip(text, at + 1) == len(text):
            return
        if text[at : at + 1] != ",":
            fail()


def read_claims(payload):
    claims = {}
    try:
        for name, value, raw in members(payload.decode("utf-8")):
            if name in claims or name not in TYPES:
                fail()
            claims[name] = TYPES[name](value, raw)
    except (ValueError, IndexError):
        fail()
    states = [n for n in ("rs_json", "rs_text", "rs_bytes") if n in claims]
    always = {"jti", "iat", "exp", "rs_deadline"} <= claims.keys()
    if not always or len(states) != 1 or ("rs_round" in claims) != ("rs_flow" in claims) or ("rs_use" in claims) != ("rs_epoch" in claims):
        fail()
    if claims.get("rs_round", 2) < 2:
        fail()
    claims["state"] = claims[states[0]]
    round_, flow = claims.get("rs_round", 1), claims.get("rs_flow", claims["jti"])
    ttl, left = claims["exp"] - claims["iat"], claims["rs_deadline"] - claims["exp"]
    ok = 0 < claims["iat"] < 2**40 and 0 < ttl <= 86_400 and 0 <= left and ttl + left <= 604_800 and round_ <= 16
    ok = ok and (round_ == 1) == (flow == claims["jti"]) and any(claims["jti"]) and any(flow)
    if not ok or len(claims.get("aud", "").encode()) > 255 or not 1 <= len(claims.get("rs_epoch", b"-")) <= 255:
        fail()
    claims["round"], claims["flow"] = round_, flow
    return claims


def principal_tag(keys, jti, parts):
    h = hashlib.sha256(b"mcp-requeststate v1 principal\0")
    for part in parts:
        h.update(len(part.encode()).to_bytes(8, "big") + part.encode())
    return hmac.digest(keys["principal"], jti + h.digest(), "sha256")[:16]


def request_tag(keys, jti, method, params):
    return hmac.digest(keys["request"], jti + request_digest(method, params), "sha256")[:16]
