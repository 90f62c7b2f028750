package main

import (
	"mime"
	"net"
	"net/http"
	"slices"
)

// policy lets the page load its own script and style and call its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// maxBody is the longest request, in bytes. The longest token of the lab's longest state is well below it.
const maxBody = 96 << 10

// hosts is what a browser may have in its address bar for a listener on addr.
func hosts(addr net.Addr) []string {
	_, port, _ := net.SplitHostPort(addr.String()) // an address of a listener always has a port
	return []string{addr.String(), net.JoinHostPort("localhost", port)}
}

// guard refuses what does not come from the page itself. The Host header is compared because a foreign name may be
// made to point at 127.0.0.1 (DNS rebinding), which makes a foreign page same-origin; Origin, because any page may
// post to here.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, r.Host) {
			fail(w, http.StatusMisdirectedRequest, "this is not a name of the lab; use the address that it printed")
			return
		}
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		if r.Header.Get("Origin") != "http://"+r.Host {
			fail(w, http.StatusForbidden, "only the lab's own page may post to it (the Origin header says otherwise)")
			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			fail(w, http.StatusUnsupportedMediaType, "the body must be application/json")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
