// A strict, lossless JSON reader: JSON.parse merges members and rounds numbers. Strings come out unescaped, numbers as they
// are written, and every node knows where it was in the text.
import { isUtf8 } from "node:buffer";

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const space = /[ \t\n\r]*/y;
const escapes = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

export function parse(bytes, maxDepth) {
  if (!isUtf8(bytes)) throw new Error("not UTF-8");
  const r = new Reader(bytes.toString("utf8"), maxDepth); // toString keeps a byte order mark, which is then refused
  const node = r.value(1);
  r.space();
  if (r.i !== r.text.length) throw new Error("data behind the value");
  return node;
}

class Reader {
  constructor(text, maxDepth) {
    Object.assign(this, { text, maxDepth, i: 0 });
  }

  match(re) {
    re.lastIndex = this.i;
    const m = re.exec(this.text);
    if (!m) throw new Error(`no value at ${this.i}`);
    this.i = re.lastIndex;
    return m[0];
  }

  space() {
    this.match(space);
  }

  take(c) {
    if (!this.text.startsWith(c, this.i)) return false;
    this.i += c.length;
    return true;
  }

  need(c) {
    if (!this.take(c)) throw new Error(`no ${c} at ${this.i}`);
  }

  value(depth) {
    this.space();
    const start = this.i;
    const node = this.kind(depth);
    return { ...node, raw: this.text.slice(start, this.i) };
  }

  kind(depth) {
    if (this.text[this.i] === '"') return { type: "string", value: this.string() };
    if ("{[".includes(this.text[this.i] ?? "x") && depth > this.maxDepth) throw new Error("too deep");
    if (this.take("{")) return { type: "object", members: this.object(depth) };
    if (this.take("[")) return { type: "array", items: this.list("]", () => this.value(depth + 1)) };
    for (const word of ["null", "true", "false"]) if (this.take(word)) return { type: word };
    return { type: "number", value: this.match(number) };
  }

  object(depth) {
    const seen = new Set();
    return this.list("}", () => {
      this.space();
      const start = this.i;
      const name = this.string();
      const escaped = this.text.slice(start, this.i).includes("\\");
      if (seen.has(name)) throw new Error("member twice");
      seen.add(name);
      this.space();
      this.need(":");
      return { name, escaped, node: this.value(depth + 1) };
    });
  }

  list(end, item) {
    const out = [];
    this.space();
    if (this.take(end)) return out;
    for (;;) {
      out.push(item());
      this.space();
      if (this.take(end)) return out;
      this.need(",");
    }
  }

  string() {
    this.need('"');
    let out = "";
    for (;;) {
      const c = this.text[this.i++];
      if (c === undefined || c < " ") throw new Error("bad string");
      if (c === '"') break;
      out += c === "\\" ? this.escape() : c;
    }
    if (!out.isWellFormed()) throw new Error("unpaired surrogate");
    return out;
  }

  escape() {
    const c = this.text[this.i++];
    if (c !== "u") {
      if (!Object.hasOwn(escapes, c ?? "")) throw new Error("bad escape");
      return escapes[c];
    }
    const hex = this.text.slice(this.i, this.i + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new Error("bad escape");
    this.i += 4;
    return String.fromCharCode(parseInt(hex, 16));
  }
}
