// An opener of rs1h., rs1x. and rs1c. tokens, from docs/token-format.md.
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { check, refuse, unb64 } from "./claims.mjs";

export function open(format, ring, token) {
  const prefix = format + ".";
  if (!token.startsWith(prefix)) refuse("malformed");
  const raw = unb64(token.slice(prefix.length));
  if (raw.length < 8 + (format === "rs1h" ? 32 : 40)) refuse("malformed");
  const id = raw.subarray(0, 8);
  const keys = ring.find((k) => k.id === id.toString("base64url"));
  if (!keys) refuse("unknown key");
  try {
    return { keys, claims: { rs1h: signed, rs1x: xaes, rs1c: xchacha }[format](keys[format], raw, Buffer.concat([Buffer.from(prefix), id])) };
  } catch {
    refuse("forged");
  }
}

function signed(key, raw) {
  const body = raw.subarray(0, -32);
  const mac = createHmac("sha256", key).update("rs1h.").update(body).digest();
  if (!timingSafeEqual(mac, raw.subarray(-32))) throw new Error("MAC");
  return body.subarray(8);
}

function xchacha(key, raw, additional) {
  return Buffer.from(xchacha20poly1305(key, raw.subarray(8, 32), additional).decrypt(raw.subarray(32)));
}

// xaes is XAES-256-GCM (https://c2sp.org/XAES-256-GCM).
function xaes(key, raw, additional) {
  const nonce = raw.subarray(8, 32);
  const block = (b) => createCipheriv("aes-256-ecb", key, null).setAutoPadding(false).update(b);
  const l = BigInt("0x" + block(Buffer.alloc(16)).toString("hex"));
  const k1 = ((l << 1n) & ((1n << 128n) - 1n)) ^ (l >> 127n ? 0x87n : 0n);
  const derive = (counter) => {
    const m = BigInt("0x" + Buffer.concat([Buffer.from([0, counter, 0x58, 0]), nonce.subarray(0, 12)]).toString("hex"));
    return block(Buffer.from((m ^ k1).toString(16).padStart(32, "0"), "hex"));
  };
  const gcm = createDecipheriv("aes-256-gcm", Buffer.concat([derive(1), derive(2)]), nonce.subarray(12), { authTagLength: 16 });
  gcm.setAAD(additional);
  gcm.setAuthTag(raw.subarray(-16));
  return Buffer.concat([gcm.update(raw.subarray(32, -16)), gcm.final()]);
}

// readBinary reads the binary claims.
export function readBinary(b) {
  let at = 0;
  const next = (n) => {
    if (at + n > b.length) refuse("malformed");
    return b.subarray(at, (at += n));
  };
  const uint = (n) => next(n).readUIntBE(0, n);
  const short = () => next(uint(1) || refuse("malformed"));
  const flags = uint(1);
  if (flags & 0xc0) refuse("malformed");
  const c = { jti: next(16), iat: uint(5) };
  c.exp = c.iat + uint(3);
  c.deadline = c.exp + uint(3);
  c.round = 1;
  c.flow = c.jti;
  if (flags & 8) {
    c.round = uint(1);
    c.flow = next(16);
    if (c.round < 2) refuse("malformed");
  }
  c.aud = flags & 1 ? short().toString("utf8") : "";
  c.principal = flags & 2 ? next(16) : undefined;
  c.request = flags & 4 ? next(16) : undefined;
  c.use = ["", "single", "redemption"][(flags >> 4) & 3] ?? refuse("malformed");
  c.epoch = c.use ? short() : Buffer.alloc(0);
  c.state = b.subarray(at);
  return check(c);
}
