// Claims, tags and the checks of a reader, from docs/token-format-jwt.md.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { parse } from "./json.mjs";
import { requestDigest } from "./digest.mjs";

// A refusal has one of the reasons that the reader's operator may see; a client is told one thing.
export class Refusal extends Error {}

export function refuse(reason) {
  throw new Refusal(reason);
}

export const b64 = (bytes) => Buffer.from(bytes).toString("base64url");

// unb64 is strict: Buffer.from skips what it does not know, and takes trailing bits.
export function unb64(text) {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) refuse("malformed");
  return bytes;
}

const modes = ["", "single", "redemption"];

// readClaims reads the authenticated JSON of a JWT.
export function readClaims(bytes) {
  let root;
  try {
    root = parse(bytes, 101); // the object itself, and 100 for rs_json
  } catch {
    refuse("malformed");
  }
  if (root.type !== "object") refuse("malformed");
  const m = new Map();
  for (const { name, escaped, node } of root.members) {
    if (escaped || !Object.hasOwn(types, name)) refuse("malformed");
    m.set(name, types[name](node));
  }
  const states = ["rs_json", "rs_text", "rs_bytes"].filter((n) => m.has(n));
  for (const name of ["jti", "iat", "exp", "rs_deadline"]) if (!m.has(name)) refuse("malformed");
  if (states.length !== 1 || m.has("rs_round") !== m.has("rs_flow") || m.has("rs_use") !== m.has("rs_epoch")) refuse("malformed");
  if (m.has("rs_round") && m.get("rs_round") < 2) refuse("malformed");
  return check({
    jti: m.get("jti"), iat: m.get("iat"), exp: m.get("exp"), aud: m.get("aud") ?? "", deadline: m.get("rs_deadline"),
    round: m.get("rs_round") ?? 1, flow: m.get("rs_flow") ?? m.get("jti"), principal: m.get("rs_principal"),
    request: m.get("rs_request"), use: m.get("rs_use") ?? "", epoch: m.get("rs_epoch") ?? Buffer.alloc(0), state: m.get(states[0]),
  });
}

const string = (node) => (node.type === "string" ? node.value : refuse("malformed"));
const base64 = (node) => (node.raw.includes("\\") ? refuse("malformed") : unb64(string(node)));
const tag = (node) => (base64(node).length === 16 ? base64(node) : refuse("malformed"));
const integer = (node) => (/^(?:0|[1-9][0-9]{0,14})$/.test(node.raw) ? Number(node.raw) : refuse("malformed"));
const types = {
  jti: tag, iat: integer, exp: integer, aud: (n) => string(n) || refuse("malformed"), rs_deadline: integer, rs_round: integer, rs_flow: tag,
  rs_principal: tag, rs_request: tag, rs_use: (n) => (modes.indexOf(string(n)) > 0 ? string(n) : refuse("malformed")),
  rs_epoch: base64, rs_json: (n) => Buffer.from(n.raw), rs_text: (n) => Buffer.from(string(n)), rs_bytes: base64,
};

// check refuses claims that no sealer makes, in every format.
export function check(c) {
  const zero = (id) => id.every((b) => b === 0);
  const ok = c.iat > 0 && c.iat < 2 ** 40 && c.exp > c.iat && c.exp - c.iat <= 86_400 && c.deadline >= c.exp && c.deadline - c.iat <= 604_800 &&
    c.round >= 1 && c.round <= 16 && (c.round === 1) === c.flow.equals(c.jti) && !zero(c.jti) && !zero(c.flow) &&
    Buffer.byteLength(c.aud) <= 255 && (c.use === "") === (c.epoch.length === 0) && c.epoch.length <= 255;
  return ok ? c : refuse("malformed");
}

// writeClaims is the JSON of a JWT. kind says how the state is shown.
export function writeClaims(c, kind) {
  const json = {
    jti: b64(c.jti), iat: c.iat, exp: c.exp, aud: c.aud || undefined, rs_deadline: c.deadline,
    rs_round: c.round > 1 ? c.round : undefined, rs_flow: c.round > 1 ? b64(c.flow) : undefined,
    rs_principal: c.principal && b64(c.principal), rs_request: c.request && b64(c.request),
    rs_use: c.use || undefined, rs_epoch: c.use ? b64(c.epoch) : undefined,
  };
  if (kind === "json") return Buffer.from(JSON.stringify(json).slice(0, -1) + ',"rs_json":' + c.state + "}");
  if (kind === "text") json.rs_text = c.state.toString("utf8");
  else json.rs_bytes = b64(c.state);
  return Buffer.from(JSON.stringify(json));
}

export function principalTag(keys, jti, parts) {
  const h = createHash("sha256").update("mcp-requeststate v1 principal\0");
  for (const part of parts) {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(Buffer.byteLength(part)));
    h.update(size).update(part);
  }
  return createHmac("sha256", keys.principal).update(jti).update(h.digest()).digest().subarray(0, 16);
}

export function requestTag(keys, jti, method, params) {
  return createHmac("sha256", keys.request).update(jti).update(requestDigest(method, params)).digest().subarray(0, 16);
}

// verify makes the checks behind authentication, but for the replay store.
export function verify(c, keys, call) {
  if (c.aud !== (call.audience ?? "")) refuse("other audience");
  if (!same(c.principal, call.principal && principalTag(keys, c.jti, call.principal))) refuse("other principal");
  let tag;
  try {
    tag = call.method && requestTag(keys, c.jti, call.method, Buffer.from(call.params));
  } catch {
    refuse("other request");
  }
  if (!same(c.request, tag)) refuse("other request");
  if (c.use !== (call.use ?? "")) refuse("other use mode");
  if (c.iat > call.now + 60) refuse("not yet valid");
  if (call.now >= c.exp) refuse("expired");
}

function same(a, b) {
  if (!a || !b) return !a && !b;
  return timingSafeEqual(a, b);
}
