// The replay store, which the Go half lends. Only a clear "spent" lets the effect run; what is undecided throws.
import { refuse } from "../../../integration/polyglot/node/claims.mjs";

export function newStore({ address, token }) {
  async function ask(path, init) {
    const signal = AbortSignal.timeout(10_000);
    const res = await fetch(address + path, { ...init, signal, headers: { Authorization: `Bearer ${token}` } });
    if (!res.ok) throw new Error(`the store did not decide: HTTP ${res.status}`);
    return res.json();
  }
  return {
    epoch: async () => Buffer.from((await ask("/epoch")).epoch, "base64"),
    async consume(id, epoch, expiresAt) {
      const body = JSON.stringify({ id, epoch: epoch.toString("base64"), expiresAt });
      const { verdict } = await ask("/spend", { method: "POST", body });
      if (verdict === "used") refuse("already used");
      if (verdict === "stale") refuse("stale");
      if (verdict !== "spent") throw new Error("the store did not decide");
    },
  };
}
