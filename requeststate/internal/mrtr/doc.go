// Package mrtr is what the middleware of both SDKs shares: it knows rounds, questions, answers and redemptions, and
// no SDK.
//
// An adapter makes one [Guard] per server. For each request it calls [Guard.Begin], gives the handler [Round.State]
// in place of the token, [Filter]s the answers, runs the handler on [With], and ends with [Round.Finish], which
// returns the token to send or the error to answer. [RPC] turns every error into what the client may see.
package mrtr
