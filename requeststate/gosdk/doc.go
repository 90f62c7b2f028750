// Package gosdk protects every requestState of a server built on github.com/modelcontextprotocol/go-sdk, with one
// line:
//
//	protect, err := gosdk.Middleware(sealer)
//	...
//	server.AddReceivingMiddleware(protect)
//
// Handlers stay as they are: they set a plain [mcp.CallToolResult.RequestState] and read a plain
// [mcp.CallToolParamsRaw.RequestState]. On the wire there is only a token, bound to the caller and to the request.
// Each input-required result gets one, so that answers can be tied to the question they answer:
//
//   - a token that is present and invalid is rejected, with one JSON-RPC error for every cause;
//   - answers that come without a token, to keys that were not asked, or of another kind than asked, are dropped, and
//     the handler asks again ([AllowUnaskedAnswers] turns this off).
//
// # Single use
//
// None of that stops a client from sending the same valid retry twice. Where the effect must happen once per
// approval, name the tool in [SingleRedemption] and call [Redeem] just before the effect, or in [SingleUse], which
// spends the token before the handler runs. Both need a sealer with a replay store.
//
// Single use is per flow. Five first calls are five flows, each with its own approval: what may be used only once at
// all, such as a gift card, must be consumed by the business itself.
//
// # Order
//
// Add this middleware last, or first in one call: the one that is added last runs outermost. Middleware inside it
// sees plain state, middleware outside it sees tokens, and input-required results made outside it are not protected.
//
// # Clients of older protocols
//
// The SDK asks clients older than 2026-07-28 by itself and runs the handler twice within one request. The state never
// leaves the process then. A handler that asks such a client a second time cannot be served: the answer is an error.
// What comes in is checked by the same rules, whatever version the client claims.
//
// # Limits
//
// The SDK decodes the parameters before any middleware runs. A requestState that is no string, and an answer that is
// of no known kind, are refused by the SDK with its own text. An empty requestState counts as none. The SDK does not
// keep unknown members of the parameters, so they are not bound either, which is harmless, because the handler does
// not see them. It does see _meta, which is not bound: a client may send another one with every round.
//
// The mode of a named URI template holds for every URI that matches it, whatever resource the SDK finds there.
package gosdk
