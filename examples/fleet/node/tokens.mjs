// Seals and opens this library's signed JWTs, as an McpServer needs it. The format's implementation is the one that the
// project tests in integration/polyglot.
import { randomBytes } from "node:crypto";
import { principalTag, readClaims, refuse, requestTag, verify, writeClaims } from "../../../integration/polyglot/node/claims.mjs";
import * as jwt from "../../../integration/polyglot/node/jwt.mjs";

const ttl = 300;
const flowTTL = 3600;

// readRing groups the keys of a secret JWK Set by their key id; the first seals.
export function readRing(jwks) {
  const ring = new Map();
  for (const { kid, k } of jwks.keys) {
    const [id, purpose] = kid.split(".");
    if (!ring.has(id)) ring.set(id, { id });
    ring.get(id)[purpose] = Buffer.from(k, "base64url");
  }
  return [...ring.values()];
}

// seal makes the token of a flow's first round. call has audience, principal, method and params (the text on the wire).
export async function seal(ring, call, epoch, state) {
  const jti = randomBytes(16);
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    jti, iat: now, exp: now + ttl, aud: call.audience, deadline: now + flowTTL, round: 1, flow: jti,
    principal: principalTag(ring[0], jti, call.principal), request: requestTag(ring[0], jti, call.method, Buffer.from(call.params)),
    use: "redemption", epoch, state: Buffer.from(JSON.stringify(state)),
  };
  return jwt.seal("jws", ring, writeClaims(claims, "json"));
}

// open checks everything but the store, which the handler asks just before the effect.
export async function open(ring, call, token) {
  if (token.length > 65_536) refuse("too large");
  const { keys, payload } = await jwt.open("jws", ring, token);
  const claims = readClaims(payload);
  verify(claims, keys, { ...call, use: "redemption", now: Math.floor(Date.now() / 1000) });
  return { claims, state: JSON.parse(claims.state) };
}
