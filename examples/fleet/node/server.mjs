// The TypeScript half of the fleet: an McpServer of the official SDK with the same tool as the Go half, the same keys and the
// same replay store. It reads its configuration, which has secrets, as one line on standard input.
import { AsyncLocalStorage } from "node:async_hooks";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { createInterface } from "node:readline/promises";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { parse } from "../../../integration/polyglot/node/json.mjs";
import { Refusal } from "../../../integration/polyglot/node/claims.mjs";
import { newStore } from "./store.mjs";
import { open, readRing, seal } from "./tokens.mjs";

const lines = createInterface({ input: process.stdin });
const config = JSON.parse((await lines[Symbol.asyncIterator]().next()).value);
lines.on("close", () => process.exit()); // ends with its parent
const ring = readRing(config.jwks);
const store = newStore(config.store);

// The SDK hands a handler parsed numbers, which JavaScript has rounded; the digest is of the params as they came.
const wire = new AsyncLocalStorage();

const call = () => ({ audience: config.audience, principal: [config.issuer, wire.getStore().user], method: "tools/call", params: wire.getStore().params });

function newServer() {
  const server = new McpServer({ name: "fleet-typescript", version: "1" }, {
    // A throw here is answered with the same text as any other rejection.
    requestState: { verify: (token) => open(ring, call(), token) },
  });
  const inputSchema = z.object({ card: z.string(), amount: z.number().int() });
  server.registerTool("redeem", { description: "Redeem a gift card after the user has confirmed it", inputSchema }, redeem);
  return server;
}

async function redeem({ card, amount }, ctx) {
  const opened = ctx.mcpReq.requestState();
  if (!opened) { // answers without a token are not answers to a question of ours
    return inputRequired({
      inputRequests: { confirm: inputRequired.elicit({ message: "Redeem the card?", requestedSchema: z.object({ ok: z.boolean() }) }) },
      requestState: await seal(ring, call(), await store.epoch(), { asked: "typescript" }),
    });
  }
  if (!acceptedContent(ctx.mcpReq.inputResponses, "confirm")) return text("not redeemed");
  await spend(opened.claims);
  // The effect. It runs once for each flow, whichever server it ends at.
  return text(`redeemed ${amount} from ${card} (asked by ${opened.state.asked}, redeemed by typescript)`);
}

async function spend(claims) {
  try {
    await store.consume(claims.flow.toString("base64url"), claims.epoch, claims.deadline);
  } catch (e) {
    // The SDK makes a tool's error a result with isError, so the text alone reaches the client: the same for every reason.
    if (e instanceof Refusal) throw new Error("Invalid or expired requestState");
    throw new Error("Internal error"); // undecided: no effect; try again
  }
}

const text = (t) => ({ content: [{ type: "text", text: t }] });

const handler = toNodeHandler(createMcpHandler(newServer, { legacy: "reject" }));

const http = createServer(async (req, res) => {
  // The example's login: the bearer token is the user's name. A real server verifies an access token here.
  const user = /^Bearer (\S+)$/.exec(req.headers.authorization ?? "")?.[1];
  if (!user) return res.writeHead(401).end();
  const body = await buffer(req);
  let root;
  try {
    root = parse(body, 1001); // strict: a member twice would be one thing to the digest and another to the SDK
  } catch {
    return res.writeHead(400).end();
  }
  const params = root.members?.find((m) => m.name === "params")?.node.raw ?? "{}";
  return wire.run({ user, params }, () => handler(req, res, JSON.parse(body)));
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}`));
