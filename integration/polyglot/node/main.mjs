// Reads calls as JSON from standard input and answers them in order: see polyglot_test.go.
import { randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import { exportJWK, generateSecret } from "jose";
import * as binary from "./binary.mjs";
import { Refusal, b64, principalTag, readClaims, refuse, requestTag, verify, writeClaims } from "./claims.mjs";
import { canonical } from "./digest.mjs";
import * as jwt from "./jwt.mjs";

const run = JSON.parse(await text(process.stdin));
const ring = readRing(run.jwks);
const spent = new Set();

// readRing groups the keys of a JWK Set by their key id; the first seals.
function readRing(jwks) {
  const ring = new Map();
  for (const { kid, k } of jwks.keys) {
    const [id, purpose] = kid.split(".");
    if (!ring.has(id)) ring.set(id, { id });
    ring.get(id)[purpose] = Buffer.from(k, "base64url");
  }
  return [...ring.values()];
}

async function open(call) {
  if (call.token.length > 65_536) throw new Refusal("too large");
  let claims, keys;
  if (call.format === "jws" || call.format === "jwe") {
    const opened = await jwt.open(call.format, ring, call.token);
    [claims, keys] = [readClaims(opened.payload), opened.keys];
  } else {
    const opened = binary.open(call.format, ring, call.token);
    [claims, keys] = [binary.readBinary(opened.claims), opened.keys];
  }
  verify(claims, keys, call);
  if (claims.use !== "") spend(claims);
  return { state: claims.state.toString("base64"), round: claims.round, flow: claims.flow.toString("base64url") };
}

// spend is a replay store for one run of this program. A redemption is spent at once, because there is no effect in between.
function spend(c) {
  const id = c.use === "single" ? b64(c.jti) : b64(c.flow);
  if (b64(c.epoch) !== run.epoch) refuse("stale");
  if (spent.has(id)) refuse("already used");
  spent.add(id);
}

async function seal(call) {
  const jti = randomBytes(16);
  const c = {
    jti, iat: call.now, exp: call.now + 300, aud: call.audience ?? "", deadline: call.now + 3600, round: 1, flow: jti,
    principal: call.principal && principalTag(ring[0], jti, call.principal),
    request: call.method && requestTag(ring[0], jti, call.method, Buffer.from(call.params)),
    use: call.use ?? "", epoch: Buffer.from(run.epoch ?? "", "base64url"), state: Buffer.from(call.state, "base64"),
  };
  return { token: await jwt.seal(call.format, ring, writeClaims(c, call.kind)) };
}

function digest(call) {
  try {
    return { canonical: canonical(call.method, Buffer.from(call.params, "base64")).toString("hex") };
  } catch (e) {
    return { error: e.message };
  }
}

// jwk draws a secret as that package does.
async function jwk() {
  return { jwk: { ...(await exportJWK(await generateSecret("HS256", { extractable: true }))), kid: "1", alg: "HS256" } };
}

const answers = [];
for (const call of run.calls) {
  try {
    answers.push(await { open, seal, digest, jwk }[call.op](call));
  } catch (e) {
    if (!(e instanceof Refusal)) throw e;
    answers.push({ error: e.message });
  }
}
process.stdout.write(JSON.stringify(answers));
