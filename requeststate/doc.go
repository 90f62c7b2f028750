// Package requeststate protects the requestState of MCP servers: the value that a server hands to its client in one round of a
// multi round-trip request and gets back in the next (Model Context Protocol, version 2026-07-28, Multi Round-Trip
// Requests). The client controls that value, so a server that acts on it must authenticate it.
//
// A [Sealer] makes a token of the state, bound to the caller, the request, the service and a time, and opens it only for them.
// Packages hmac (signed, readable), aead (encrypted) and jose (standard JWTs) make sealers:
//
//	sealer, err := hmac.New(ring, requeststate.WithAudience("https://mcp.example.com"))
//	token, err := sealer.Seal(ctx, state, requeststate.Principal(iss, sub), requeststate.ToolCall(name, arguments))
//	opened, err := sealer.Open(ctx, token, requeststate.Principal(iss, sub), requeststate.ToolCall(name, arguments))
//
// # A correct signature is not single use
//
// A token that passes every check passes it again until it expires. Where a token stands for something that must happen
// once, add [SingleUse] or [SingleRedemption] on both sides and give the sealer a [ReplayStore]. The first spends each token
// when it is opened. The second spends the whole flow in [Opened.Redeem], so that no branch of it redeems twice. Both are per
// flow: who starts five flows, and approves five times, has five redemptions.
//
// # Errors
//
// A rejection is an [*Error], is [ErrInvalid], and has one text for all reasons, because SDKs show error texts to clients. The
// reason is for [errors.Is] and the log. [ErrUnavailable] is no rejection: it says that a store or key service did not
// decide, that the effect must not run, and that the client may try again. [RPCError] turns either into what the client
// gets.
package requeststate
