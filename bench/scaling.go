package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// scaling compares two goroutines with one.
func (p *plan) scaling(out *bytes.Buffer) {
	fmt.Fprint(out, `
## Two goroutines

Calls a second over one goroutine's; two is what two cores can give. SHA-256 over 1 KiB shows what this machine gives, and AES-256-GCM
under a key made for each message, which XAES needs, what allocations take of it. Whatever allocates scales as memory and collector let
it: these figures differ more from run to run of one machine than within a run.

| case | seal | open |
|---|--:|--:|
`)
	cases := []subjectOf{sha(), gcm()}
	for _, s := range subjects() {
		if strings.HasPrefix(s.name, "rs1") {
			cases = append(cases, s)
		}
	}
	cases = append(cases, redemptions())
	tokens, seal, open := make([]string, len(cases)), make([][]float64, len(cases)), make([][]float64, len(cases))
	for i, s := range cases {
		tokens[i] = s.seal()
	}
	for range 2 * p.rounds {
		for _, i := range rand.Perm(len(cases)) {
			s := cases[i]
			seal[i] = append(seal[i], speedup(p.slice, func() { s.seal() }))
			open[i] = append(open[i], speedup(p.slice, func() { s.open(tokens[i]) }))
		}
	}
	for i, s := range cases {
		fmt.Fprintf(out, "| %s | %s | %s |\n", s.name, spread("%.2f", seal[i]), spread("%.2f", open[i]))
	}
}

// speedup is how much more two goroutines do than one, with one before and after them, so that a drift of the machine cancels out.
func speedup(d time.Duration, f func()) float64 {
	before := turn(d, f)
	done := make(chan float64, 2)
	for range 2 {
		go func() { done <- turn(d, f) }()
	}
	a, b := <-done, <-done
	one := (before + turn(d, f)) / 2
	return one/a + one/b
}

// sha is SHA-256 and nothing else.
func sha() subjectOf {
	text := make([]byte, 1024)
	return subjectOf{
		name: "SHA-256 alone",
		seal: func() string { sha256.Sum256(text); return "" },
		open: func(string) bool { return sha256.Sum256(text)[0] == 0 },
	}
}

// gcm is AES-256-GCM under a new key each time.
func gcm() subjectOf {
	key, plain := make([]byte, 32), make([]byte, 120)
	_, _ = cryptorand.Read(key)
	made := func() cipher.AEAD {
		block, err := aes.NewCipher(key)
		must(err)
		a, err := cipher.NewGCMWithRandomNonce(block)
		must(err)
		return a
	}
	return subjectOf{
		name: "AES-256-GCM alone",
		seal: func() string { return string(made().Seal(nil, nil, plain, nil)) },
		open: func(sealed string) bool {
			_, err := made().Open(nil, nil, []byte(sealed), nil)
			return err == nil
		},
	}
}

// redemptions is the memory store, with ids that it does not know or, once all have been spent, knows.
func redemptions() subjectOf {
	ctx := context.Background()
	s, err := replay.NewMemory(replay.WithCapacity(20_000_000))
	must(err)
	u := uses{}
	u.epoch, err = s.Epoch(ctx)
	must(err)
	expires := time.Now().Add(time.Minute)
	// The ids are made before, so that making them takes no part, and are one string, so that the collector has no
	// millions of them to visit, which it would do on the core that one goroutine leaves free.
	const ids, size = 1 << 22, 22
	var b strings.Builder
	b.Grow(ids * size)
	for range ids {
		b.WriteString(u.next(expires).ID)
	}
	all := b.String()
	// Each goroutine takes ids from a stretch of its own: a counter for all would be what they wait for.
	type stretch struct{ next, end uint64 }
	const long = 4096
	var taken atomic.Uint64
	own := sync.Pool{New: func() any { return new(stretch) }}
	template := u.next(expires)
	consume := func() error {
		i := own.Get().(*stretch)
		if i.next == i.end {
			i.end = taken.Add(long)
			i.next = i.end - long
		}
		use := template
		at := i.next % ids * size
		use.ID = all[at : at+size]
		i.next++
		own.Put(i)
		return s.Consume(ctx, use)
	}
	return subjectOf{
		name: "memory store, redemptions",
		seal: func() string { _ = consume(); return "" },
		open: func(string) bool { return consume() == nil },
	}
}
