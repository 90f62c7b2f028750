// The official TypeScript SDK's codec on the job of the Go cases. The first line of standard input is the job; then each line
// is a verb and milliseconds, and is answered with nanoseconds a call.
import { createHash, randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { createRequestStateCodec } from "@modelcontextprotocol/server";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value);

// What the SDK leaves to its user: a digest of the arguments that does not depend on their spelling.
const sorted = (v) =>
  Array.isArray(v) ? v.map(sorted)
  : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])]))
  : v;
const digest = () => createHash("sha256").update(JSON.stringify(["tools/call", job.tool, sorted(job.arguments)])).digest("base64url");

const codec = createRequestStateCodec({
  key: randomBytes(32),
  ttlSeconds: 300,
  bind: () => JSON.stringify([job.issuer, job.subject, digest()]),
});
const payload = () => ({ jti: randomBytes(16).toString("base64url"), state: job.state });
const verbs = {
  seal: () => codec.mint(payload(), {}),
  open: () => codec.verify(token, {}),
};
let token = await verbs.seal();
if ((await verbs.open()).state !== job.state) throw new Error("does not open its own token");
console.log(token.length);

for await (const line of lines) {
  const [verb, ms] = line.split(" ");
  const start = process.hrtime.bigint();
  const end = start + BigInt(Math.round(ms * 1e6));
  let n = 0;
  while (process.hrtime.bigint() < end) {
    for (let i = 0; i < 32; i++) await verbs[verb]();
    n += 32;
  }
  console.log(Number(process.hrtime.bigint() - start) / n);
}
