package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDemonstration(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-v"}, &out, &errs), errs.String())
	assert.Contains(t, out.String(), "redeemed 5 times")
	assert.Contains(t, out.String(), "redeemed 1 times")
	assert.Contains(t, out.String(), `"balance":250`)
	assert.Contains(t, out.String(), `"requestState":"rs1x.`)
	assert.Equal(t, 4+1+1+1, strings.Count(out.String(), "  "+frozen)+strings.Count(out.String(), ": "+frozen))
}

func TestMistakesInUse(t *testing.T) {
	var errs bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), []string{"-no-such-flag"}, io.Discard, &errs))
	assert.Equal(t, 1, run(t.Context(), []string{"-store", "cloud"}, io.Discard, &errs))
	assert.Contains(t, errs.String(), `no store "cloud"`)
	assert.Equal(t, 1, run(t.Context(), []string{"-serve", "256.0.0.1:1"}, io.Discard, &errs))
}

func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-serve", "127.0.0.1:0"}, w, io.Discard) }()
	var at place
	require.NoError(t, json.NewDecoder(r).Decode(&at))
	assert.Len(t, at.Tokens, 2)
	require.NoError(t, demonstrate(ctx, at, io.Discard, nil))
	stop()
	assert.Zero(t, <-done)
}
