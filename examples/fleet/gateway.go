package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// gateway is the one address in front of the fleet: it sends each request to the next server, so that no two rounds
// of a flow need be at one server. A request may ask for a server by header, for the demonstration's sake.
type gateway struct {
	names   []string
	servers []http.Handler
	next    atomic.Uint64
}

// servedBy names the server in the response, and asks for one in the request.
const servedBy = "X-Served-By"

func (g *gateway) add(name, address string) error {
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	g.names = append(g.names, name)
	g.servers = append(g.servers, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	return nil
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := int((g.next.Add(1) - 1) % uint64(len(g.servers)))
	for j, name := range g.names {
		if r.Header.Get(servedBy) == name {
			i = j
		}
	}
	w.Header().Set(servedBy, g.names[i])
	g.servers[i].ServeHTTP(w, r)
}
