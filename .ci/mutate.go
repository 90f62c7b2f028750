//go:build ignore

// Mutate drops one check at a time from a copy of the core module and the middleware and sees their tests go red. A mutation that survives, does not
// apply or does not compile is a failure. Run it from the root: go run .ci/mutate.go
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A mutation replaces one text that stands once in a file.
type mutation struct{ name, file, old, new string }

const (
	pkg  = "requeststate/"
	mrtr = pkg + "internal/mrtr/"
)

var mutations = []mutation{
	// The numbered checks of Open.
	{"1 size", pkg + "open.go", "len(token) > s.maxSize", "false"},
	{"2 prefix", pkg + "internal/wire/wire.go", "if !ok || size < least {", "if !ok && false || size < least {"},
	{"2 CR and LF", pkg + "internal/wire/wire.go", `strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\n') >= 0`, "false"},
	{"2 trailing bits", pkg + "internal/wire/wire.go", "base64.RawURLEncoding.Strict()", "base64.RawURLEncoding"},
	{"3 key id, hmac", pkg + "hmac/hmac.go", "key, ok := c.ring.Lookup(requeststate.KeyID(raw[len(Prefix):]))", "key, ok := c.ring.First(), true"},
	{"3 key id, aead", pkg + "aead/aead.go", "key, ok := c.ring.Lookup(requeststate.KeyID(raw[len(c.prefix):]))", "key, ok := c.ring.First(), true"},
	{"4 MAC", pkg + "hmac/hmac.go", "if !authentic {", "if false && !authentic {"},
	{"4 MAC covers the prefix", pkg + "hmac/hmac.go", "m.Write(body)", "m.Write(body[len(Prefix):])"},
	{"4 associated data has the prefix", pkg + "aead/aead.go", "return b[:len(c.prefix)+idSize] }", "return b[len(c.prefix) : len(c.prefix)+idSize] }"},
	{"5 possible claims", pkg + "claims.go", "if !ok {\n\t\treturn errClaims", "if !ok && false {\n\t\treturn errClaims"},
	{"5 unknown flags", pkg + "claims.go", "if flags&^byte(flagsKnown) != 0 {", "if false {"},
	{"5 claims of other codecs", pkg + "codec.go", "case err == nil && c.check() != nil:", "case false:"},
	{"6 audience", pkg + "open.go", "!s.sameAudience(c.Audience)", "false"},
	{"7 principal", pkg + "open.go", "!matches(c.Principal, o.principal, &key.k.principal, c.ID)", "false"},
	{"8 request", pkg + "open.go", "!matches(c.Request, o.request, &key.k.request, c.ID)", "false"},
	{"8 request without digest", pkg + "open.go", "if o.requestErr != nil {", "if false {"},
	{"7, 8 one-sided bindings", pkg + "open.go", "return tag == nil && digest == nil", "return true"},
	{"9 mode", pkg + "open.go", "if c.Use != o.use {", "if false {"},
	{"10 future", pkg + "open.go", "c.IssuedAt > now+leeway", "false"},
	{"10 expiry", pkg + "open.go", "if now >= c.ExpiresAt {", "if false {"},
	{"10 at expiry", pkg + "open.go", "if now >= c.ExpiresAt {", "if now > c.ExpiresAt {"},
	{"11 spend", pkg + "open.go", "if c.Use == UseSingle {", "if false {"},
	{"11 spend before decoding", pkg + "open.go", "if o.decode != nil {", "if c.Use != UseSingle && o.decode != nil {"},
	{"12 state after an error", pkg + "open.go", "err = s.verdict(ctx, \"open\", err, key.ID(), &opened.claims); err != nil {", "s.verdict(ctx, \"open\", err, key.ID(), &opened.claims) != nil && false {"},
	// What an unknown answer means.
	{"codec: unknown error", pkg + "codec.go", "return Key{}, Unavailable(err)\n}", "return key, nil\n}"},
	{"store: unknown error", pkg + "opened.go", "return Unavailable(err)\n}", "return nil\n}"},
	{"store: panic", pkg + "opened.go", `err = Unavailable(fmt.Errorf("replay store panicked: %v", p))`, "err = nil"},
	{"store: undecided first", pkg + "opened.go", "case errors.Is(err, ErrUnavailable):\n\t\treturn asUnavailable(err)\n\tcase errors.Is(err, ErrConsumed)", "case errors.Is(err, ErrConsumed)"},
	{"undecided is no rejection", pkg + "errors.go", "if errors.Is(cause, ErrInvalid) {", "if false {"},
	// Single use, Redeem and flows.
	{"the flow is spent, not the round", pkg + "opened.go", "u.ID, u.ExpiresAt = c.Flow.String(),", "u.ID, u.ExpiresAt = c.ID.String(),"},
	{"remembered until the deadline", pkg + "opened.go", "c.Flow.String(), time.Unix(c.Deadline, 0)", "c.Flow.String(), time.Unix(c.ExpiresAt, 0)"},
	{"nil once per Opened", pkg + "opened.go", "if !o.state.CompareAndSwap(live, redeeming) {", "if o.state.Swap(redeeming) == 99 {"},
	{"dead after an error", pkg + "opened.go", "if err != nil {\n\t\to.state.Store(dead)", "if err != nil {\n\t\to.state.Store(live)"},
	{"deadline at Redeem", pkg + "opened.go", "o.sealer.now().Unix() >= o.claims.Deadline", "false"},
	{"fresh attempt", pkg + "opened.go", "Attempt: newID().String()", "Attempt: c.ID.String()"},
	{"child: epoch verbatim", pkg + "sealer.go", "c.Flow, c.Deadline, c.Epoch, c.Round = p.claims.Flow, p.claims.Deadline, p.claims.Epoch, p.claims.Round+1", "c.Flow, c.Deadline, c.Round = p.claims.Flow, p.claims.Deadline, p.claims.Round+1\n\t\tif e, err := s.epoch(ctx); c.Use != UseUnlimited && err == nil {\n\t\t\tc.Epoch = []byte(e)\n\t\t}"},
	{"child: flow verbatim", pkg + "sealer.go", "c.Flow, c.Deadline, c.Epoch, c.Round = p.claims.Flow,", "c.Flow, c.Deadline, c.Epoch, c.Round = newID(),"},
	{"child: deadline verbatim", pkg + "sealer.go", "p.claims.Flow, p.claims.Deadline, p.claims.Epoch", "p.claims.Flow, max(p.claims.Deadline, now+int64(s.flowTTL/time.Second)), p.claims.Epoch"},
	{"child: within the deadline", pkg + "sealer.go", "c.ExpiresAt = min(c.ExpiresAt, c.Deadline)", ""},
	{"child of a redeemed parent", pkg + "sealer.go", "case !p.continuable():", "case false:"},
	{"child of another sealer", pkg + "sealer.go", "case p.sealer != s:", "case false:"},
	{"child of another mode", pkg + "sealer.go", "case o.use != UseUnlimited && o.use != p.claims.Use:", "case false:"},
	{"child of another principal", pkg + "sealer.go", "case o.principal != nil && (p.principal == nil || *o.principal != *p.principal):", "case false:"},
	{"child of another request", pkg + "sealer.go", "case o.request != nil && o.requestErr == nil && (p.request == nil || *o.request != *p.request):", "case false:"},
	{"16 rounds", pkg + "sealer.go", "case p.claims.Round >= maxRounds:", "case false:"},
	{"one child under SingleUse", pkg + "opened.go", "if o.claims.Use == UseSingle && !o.state.CompareAndSwap(live, branched) {", "if false {"},
	// The memory store.
	{"memory: epoch", pkg + "replay/memory.go", "use.Epoch != m.epoch", "len(use.Epoch) != len(m.epoch)"},
	{"memory: horizon", pkg + "replay/shard.go", "if e.exp <= s.horizon {", "if false {"},
	{"memory: the horizon rises", pkg + "replay/shard.go", "s.horizon = max(s.horizon, e.exp)", ""},
	{"memory: the horizon never falls", pkg + "replay/shard.go", "s.horizon = max(s.horizon, e.exp)", "s.horizon = e.exp"},
	{"memory: expired ids take no room", pkg + "replay/shard.go", "kept = 0", "kept = margin"},
	{"memory: room for all that the capacity says", pkg + "replay/memory.go", "m.limit = mean + 6*isqrt(mean)", "m.limit = mean"},
	{"memory: full refuses", pkg + "replay/shard.go", "if len(s.entries) >= limit {\n\t\treturn errFull", "if false {\n\t\treturn errFull"},
	{"memory: attempt", pkg + "replay/shard.go", "if known.attempt == e.attempt {", "if true {"},
	{"memory: other attempt", pkg + "replay/shard.go", "if known.attempt == e.attempt {", "if false {"},
	{"memory: the whole id", pkg + "replay/shard.go", "known.id == e.id && known.id2 == e.id2", "known.id2>>31 == e.id2>>31"},
	{"memory: one half of the id", pkg + "replay/shard.go", "known.id == e.id && known.id2 == e.id2", "known.id2 == e.id2"},
	{"memory: the other half", pkg + "replay/shard.go", "known.id == e.id && known.id2 == e.id2", "known.id == e.id"},
	{"memory: another place", pkg + "replay/shard.go", "case at&^placeMask == mark:", "case at == mark|1:"},
	{"memory: live ids stay", pkg + "replay/shard.go", "if e.exp > cutoff {\n\t\t\ts.insert(e)", "if e.exp > cutoff+1 {\n\t\t\ts.insert(e)"},
	{"memory: cancelled", pkg + "replay/memory.go", "if err := ctx.Err(); err != nil {\n\t\treturn requeststate.Unavailable(err)", "if err := ctx.Err(); false {\n\t\treturn requeststate.Unavailable(err)"},
	{"child: iat not before its parent's", pkg + "sealer.go", "c.IssuedAt = max(now, o.prev.claims.IssuedAt)", "c.IssuedAt = now"},
	// Misuse that would weaken a sealer in silence.
	{"no principal", pkg + "sealer.go", "case o.principal == nil && !s.allowAnonymous:", "case false:"},
	{"no request", pkg + "sealer.go", "case o.request == nil && !s.allowAny:", "case false:"},
	{"weak keys", pkg + "key.go", `if why := weak(secret); why != "" {`, `if why := weak(secret); false {`},
	{"tags under the sealing key", pkg + "tag.go", "copy(m.in[:], id[:])", ""},
	// The middleware.
	{"mrtr: principal", mrtr + "round.go", "if len(r.call.Principal) > 0 {", "if false {"},
	{"mrtr: mode", mrtr + "round.go", "r.guard.bindings(r.space[:0], r.call.Name)", "r.space[:0]"},
	{"mrtr: asked keys", mrtr + "round.go", "(!ok || asked != kind(answer))", "ok && asked != kind(answer)"},
	{"mrtr: asked kinds", mrtr + "round.go", "asked != kind(answer))", "asked == \"\")"},
	{"mrtr: envelope version", mrtr + "envelope.go", "state[0] != envelopeVersion", "false"},
	{"mrtr: state on a complete result", mrtr + "round.go", "case o.State != \"\":\n\t\treturn errors", "case false:\n\t\treturn errors"},
	{"mrtr: neither Redeem nor Waive", mrtr + "round.go", "!r.redeemed && !r.waived && !o.Failed:", "false:"},
	{"mrtr: Redeem failed, handler goes on", mrtr + "round.go", "case r.failed != nil:", "case false:"},
	{"mrtr: second round of an old client", mrtr + "round.go", "if r.call.Legacy {", "if false {"},
	{"mrtr: flow goes on", mrtr + "round.go", "if r.opened != nil {\n\t\topts", "if false {\n\t\topts"},
	{"mrtr: question changed, old client", mrtr + "round.go", "case r.superseded &&", "case false && r.superseded &&"},
	{"mrtr: question changed, Redeem", mrtr + "redeem.go", "case r.superseded:", "case false:"},
	{"mrtr: Redeem again after a failure", mrtr + "redeem.go", "case r.failed != nil:", "case false:"},
	{"mrtr: Redeem on a first call", mrtr + "redeem.go", "case r.opened == nil && !r.call.Legacy:", "case false:"},
	{"mrtr: Redeem after Waive", mrtr + "redeem.go", "case r.waived:", "case false:"},
	{"mrtr: stale answers", mrtr + "state.go", "if r.drop != nil {", "if false {"},
	{"mrtr: state of another shape", mrtr + "state.go", "have.schema != schemaOf(reflect.TypeFor[T]()) ||", ""},
	{"gosdk: claims without identity", pkg + "gosdk/principal.go", "return nil, errNoIdentity", "return nil, nil"},
	{"gosdk: issuer", pkg + "gosdk/principal.go", "return []string{issuer, subject}, nil", "return []string{subject}, nil"},
	{"gosdk: principal's error", pkg + "gosdk/middleware.go", "if err != nil {\n\t\treturn c, refusal", "if false {\n\t\treturn c, refusal"},
	{"gosdk: names", pkg + "gosdk/names.go", "if len(m.missing) > 0 {\n\t\treturn", "if false {\n\t\treturn"},
	{"gosdk: unknown results", pkg + "gosdk/middleware.go", "case !known:", "case !known && false:"},
	{"gosdk: question is private", pkg + "gosdk/outbound.go", "sealed.Cacheable = mcp.Cacheable{TTLMs: 0, CacheScope: \"private\"}", ""},
	{"mcpgo: tasks", pkg + "mcpgo/mcpgo.go", "p.hooks.AddOnRequestInitialization(refuseTasks)", ""},
	{"mcpgo: hooks replaced, tools", pkg + "mcpgo/mcpgo.go", "if s.GetHooks() == p.hooks {", "if true {"},
	{"mcpgo: hooks replaced, others", pkg + "mcpgo/mcpgo.go", "if s.GetHooks() != p.hooks {", "if false {"},
	{"mcpgo: names", pkg + "mcpgo/mcpgo.go", "if len(missing) > 0 {", "if false {"},
	{"mcpgo: state on resources", pkg + "mcpgo/hooks.go", `if req.Params.RequestState != "" {`, "if false {"},
	{"mcpgo: answers on resources", pkg + "mcpgo/hooks.go", "req.Params.InputResponses = nil", ""},
	{"mcpgo: raw arguments", pkg + "mcpgo/hooks.go", "if len(raw) == 0 &&", "if"},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, part := range []string{"go.mod", "go.sum", "requeststate", "internal", "testdata", "docs"} {
		if out, err := exec.Command("cp", "-r", part, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %s", err, out)
		}
	}
	for _, file := range []string{pkg, mrtr, pkg + "gosdk/", pkg + "mcpgo/"} {
		if out, err := test(dir, file); err != nil {
			return fmt.Errorf("the tests fail without a mutation:\n%s", out)
		}
	}
	tried, survived := 0, 0
	for _, m := range mutations {
		if len(os.Args) > 1 && !strings.Contains(m.name, os.Args[1]) {
			continue // one was asked for
		}
		tried++
		start := time.Now()
		verdict, err := try(dir, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if verdict != "red" {
			survived++
		}
		fmt.Printf("%-36s %-10s %4.1fs\n", m.name, verdict, time.Since(start).Seconds())
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d mutations were not caught", survived, tried)
	}
	fmt.Printf("%d mutations, all caught\n", tried)
	return nil
}

// try applies m, runs the tests and puts the file back.
func try(dir string, m mutation) (string, error) {
	file := filepath.Join(dir, m.file)
	original, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(original), m.old); n != 1 {
		return fmt.Sprintf("%d PLACES", n), nil
	}
	mutated := bytes.Replace(original, []byte(m.old), []byte(m.new), 1)
	if err := os.WriteFile(file, mutated, 0o644); err != nil {
		return "", err
	}
	defer os.WriteFile(file, original, 0o644)
	out, err := test(dir, m.file)
	switch {
	case err == nil:
		return "SURVIVED", nil
	case bytes.Contains(out, []byte("[build failed]")):
		fmt.Printf("%s\n", out)
		return "NO BUILD", nil
	}
	return "red", nil
}

// test runs the tests that must see a change of file.
func test(dir, file string) (out []byte, err error) {
	switch {
	case strings.HasPrefix(file, pkg+"mcpgo/"):
		return packages(dir+"/requeststate/mcpgo", ".")
	case strings.HasPrefix(file, pkg+"gosdk/"):
		return packages(dir+"/requeststate/gosdk", ".")
	case strings.HasPrefix(file, mrtr):
		if out, err = packages(dir, "./"+mrtr); err == nil {
			return packages(dir+"/requeststate/gosdk", ".")
		}
		return out, err
	}
	return packages(dir, "./requeststate", "./requeststate/hmac", "./requeststate/aead", "./requeststate/internal/wire",
		"./requeststate/replay")
}

// packages runs the tests of a module's packages.
func packages(dir string, list ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast"}, list...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	return cmd.CombinedOutput()
}
