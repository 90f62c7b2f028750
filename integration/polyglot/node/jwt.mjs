// The JWT formats with the npm package jose, from docs/token-format-jwt.md.
import { CompactEncrypt, CompactSign, compactDecrypt, compactVerify } from "jose";
import { b64, refuse, unb64 } from "./claims.mjs";

const formats = {
  jws: { header: (kid) => ({ alg: "HS256", kid, typ: "mcp-rs+jwt" }), lengths: [0, 0, 43] },
  jwe: { header: (kid) => ({ alg: "A256KW", enc: "A256GCM", kid, typ: "mcp-rs+jwt" }), lengths: [0, 54, 16, 0, 22] },
};

export async function seal(format, ring, payload) {
  const keys = ring[0];
  const header = formats[format].header(keys.id + "." + format);
  if (format === "jws") return new CompactSign(payload).setProtectedHeader(header).sign(keys.jws);
  return new CompactEncrypt(payload).setProtectedHeader(header).encrypt(keys.jwe);
}

// open returns the authenticated payload and the keys that it is under.
export async function open(format, ring, token) {
  const { header, lengths } = formats[format];
  const parts = token.split(".");
  if (parts.length !== lengths.length) refuse("malformed");
  parts.forEach((p, i) => (unb64(p), lengths[i] && p.length !== lengths[i] && refuse("malformed")));
  const mine = (keys) => b64(JSON.stringify(header(keys.id + "." + format)));
  const keys = ring.find((k) => mine(k) === parts[0]);
  if (!keys) refuse(sameButForTheKey(parts[0], mine(ring[0])) ? "unknown key" : "malformed");
  try {
    if (format === "jws") return { keys, payload: Buffer.from((await compactVerify(token, keys.jws, { algorithms: ["HS256"] })).payload) };
    const options = { keyManagementAlgorithms: ["A256KW"], contentEncryptionAlgorithms: ["A256GCM"] };
    return { keys, payload: Buffer.from((await compactDecrypt(token, keys.jwe, options)).plaintext) };
  } catch {
    refuse("forged");
  }
}

// sameButForTheKey tells a key that is not in the ring from another header, for the operator's log.
function sameButForTheKey(a, b) {
  const blank = (s) => Buffer.from(s, "base64url").toString("latin1").replace(/"kid":"[A-Za-z0-9_-]{11}\./, '"kid":".');
  return blank(a) === blank(b);
}
