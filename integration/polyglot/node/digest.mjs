// The request digest, from docs/request-digest.md.
import { createHash } from "node:crypto";
import { parse } from "./json.mjs";

const salient = {
  "tools/call": { members: ["name", "arguments", "task"], required: "name" },
  "prompts/get": { members: ["name", "arguments", "task"], required: "name" },
  "resources/read": { members: ["uri"], required: "uri" },
};

export function canonical(method, params) {
  if (method === "" || !method.isWellFormed()) throw new Error("bad method");
  const root = params === null ? { type: "object", members: [] } : parse(params, 1000);
  if (root.type !== "object") throw new Error("params are no object");
  const out = [text("mcp-requeststate v1 request"), text(method)];
  value(out, { type: "object", members: choose(method, root.members) }, root);
  for (const m of root.members) value([], m.node); // a fault in a member that is left out refuses the request, too
  return Buffer.concat(out);
}

export function requestDigest(method, params) {
  return createHash("sha256").update(canonical(method, params)).digest();
}

function choose(method, members) {
  const rule = salient[method];
  if (!rule) return members;
  const required = members.find((m) => m.name === rule.required);
  if (required?.node.type !== "string") throw new Error(`no ${rule.required}`);
  return members.filter((m) => rule.members.includes(m.name) && !(m.name === "arguments" && empty(m.node)));
}

function empty(node) {
  return node.type === "null" || (node.type === "object" && node.members.length === 0);
}

function text(s) {
  const bytes = Buffer.from(s, "utf8");
  return Buffer.concat([length(bytes.length), bytes]);
}

function length(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
}

function value(out, node) {
  switch (node.type) {
    case "string":
      return out.push(Buffer.from('"'), text(node.value));
    case "number":
      return out.push(Buffer.from("#"), text(decimal(node.value)));
    case "array":
      out.push(Buffer.from("["));
      for (const item of node.items) value(out, item);
      return out.push(Buffer.from("]"));
    case "object": {
      const members = node.members.map((m) => ({ key: Buffer.from(m.name, "utf8"), ...m }));
      members.sort((a, b) => Buffer.compare(a.key, b.key));
      out.push(Buffer.from("{"));
      for (const m of members) {
        value(out, { type: "string", value: m.name });
        value(out, m.node);
      }
      return out.push(Buffer.from("}"));
    }
    default:
      return out.push(Buffer.from(node.type[0]));
  }
}

function decimal(written) {
  const [, sign, whole, fraction = "", power = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(written);
  if (power.replace(/^[+-]/, "").length > 9) throw new Error("exponent too long");
  let digits = (whole + fraction).replace(/^0+/, "");
  let exponent = BigInt(power.replace(/^\+/, "")) - BigInt(fraction.length);
  const stripped = digits.replace(/(?<!0)0+$/, "");
  exponent += BigInt(digits.length - stripped.length);
  digits = stripped;
  if (digits === "") return "0";
  return sign + digits + (exponent === 0n ? "" : "e" + exponent);
}
