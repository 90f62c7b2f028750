//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
)

// BenchmarkFlow is a flow without the network: what the SDK and the middleware do.
func BenchmarkFlow(b *testing.B) {
	sealers, err := newSealers()
	if err != nil {
		b.Fatal(err)
	}
	handlers := map[string]http.Handler{"plain": handler(false, "")}
	for name, opts := range map[string][]gosdk.Option{"sealed": nil, "redeemed": {gosdk.SingleRedemption("deploy")}} {
		protect, err := gosdk.Middleware(sealers.hmac, opts...)
		if err != nil {
			b.Fatal(err)
		}
		handlers[name] = handler(opts != nil, "", protect)
	}
	for _, name := range []string{"plain", "sealed", "redeemed", "plain", "sealed", "redeemed"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				flowOf(b, handlers[name])
			}
		})
	}
}

func flowOf(b *testing.B, h http.Handler) {
	post := func(body string) []byte {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.Bytes()
	}
	var asked struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal(post(first+"}}"), &asked); err != nil {
		b.Fatal(err)
	}
	text := post(fmt.Sprintf(retryFormat, first, asked.Result.RequestState))
	if !bytes.Contains(text, []byte("deployed")) {
		b.Fatalf("%s", text)
	}
}
