//go:build ignore

// Mutate drops one check at a time from a copy of the core module and sees its tests go red. A mutation that survives, does not
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

const pkg = "requeststate/"

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
	{"memory: full refuses", pkg + "replay/shard.go", "if s.count >= limit {\n\t\treturn errFull", "if false {\n\t\treturn errFull"},
	{"memory: attempt", pkg + "replay/shard.go", "if known.attempt == e.attempt {", "if true {"},
	{"memory: other attempt", pkg + "replay/shard.go", "if known.attempt == e.attempt {", "if false {"},
	{"memory: cancelled", pkg + "replay/memory.go", "if err := ctx.Err(); err != nil {\n\t\treturn requeststate.Unavailable(err)", "if err := ctx.Err(); false {\n\t\treturn requeststate.Unavailable(err)"},
	{"child: iat not before its parent's", pkg + "sealer.go", "c.IssuedAt = max(now, o.prev.claims.IssuedAt)", "c.IssuedAt = now"},
	// Misuse that would weaken a sealer in silence.
	{"no principal", pkg + "sealer.go", "case o.principal == nil && !s.allowAnonymous:", "case false:"},
	{"no request", pkg + "sealer.go", "case o.request == nil && !s.allowAny:", "case false:"},
	{"weak keys", pkg + "key.go", `if why := weak(secret); why != "" {`, `if why := weak(secret); false {`},
	{"tags under the sealing key", pkg + "tag.go", "copy(m.in[:], id[:])", ""},
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
	if out, err := test(dir); err != nil {
		return fmt.Errorf("the tests fail without a mutation:\n%s", out)
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
	out, err := test(dir)
	switch {
	case err == nil:
		return "SURVIVED", nil
	case bytes.Contains(out, []byte("[build failed]")):
		fmt.Printf("%s\n", out)
		return "NO BUILD", nil
	}
	return "red", nil
}

func test(dir string) ([]byte, error) {
	cmd := exec.Command("go", "test", "-vet=off", "-failfast", "./requeststate", "./requeststate/hmac", "./requeststate/aead",
		"./requeststate/internal/wire", "./requeststate/replay")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	return cmd.CombinedOutput()
}
