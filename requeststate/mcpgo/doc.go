// Package mcpgo protects every requestState of a server built on github.com/mark3labs/mcp-go, with one line:
//
//	protect, err := mcpgo.Protect(sealer, principal)
//	...
//	s := server.NewMCPServer("name", "1.0.0", protect, server.WithToolCapabilities(true))
//
// Handlers stay as they are: they return plain state and read plain state. On the wire there is only a token, bound to the
// caller and to the request. Each input-required result gets one, so that answers can be tied to the question they answer: a
// token that is present and invalid is rejected; answers that come without a token, to keys that were not asked, or of another
// kind than asked, are dropped, and the handler asks again ([AllowUnaskedAnswers] turns this off).
//
// # Single use
//
// None of that stops a client from sending the same valid retry twice. Where the effect must happen once per approval, name the
// tool in [SingleRedemption] and call [Redeem] just before the effect, or in [SingleUse], which spends the token before the
// handler runs. Both need a sealer with a replay store. Single use is per flow: five first calls are five flows, each with its
// own approval.
//
// # Order
//
// Give Protect first: mcp-go runs the middleware that was added first outermost. Give it after [server.WithHooks], which
// replaces the hooks that were there; otherwise the server has no tools, its prompts and resources answer with an internal
// error, and the log says why. Either order with [server.WithRecovery] will do: a panic after a redemption is logged, and the
// flow stays spent.
//
// # Limits of this SDK
//
//   - It turns every error of a handler or middleware into code -32603, without data. A rejection has the frozen message
//     "Invalid or expired requestState" all the same, and it is the same for every cause.
//   - It has no token info: who calls is for the principal function to say, from the headers or the context.
//   - Tools that run as tasks alone do not pass its tool middleware. Calls as tasks are refused, whatever tool they call.
//   - Resource handlers return contents and cannot ask for input. A state or answers on resources/read are refused, or dropped
//     where there is no state.
//   - It reads member names as encoding/json does, regardless of case: a "RequestState" is a requestState. It is verified like
//     any other.
//
// # Clients of older protocols
//
// The SDK asks clients older than 2026-07-28 by itself and runs the handler again, up to ten times, within one request. Each run
// passes this middleware, so the state travels as a token even there, and never leaves the process.
package mcpgo
