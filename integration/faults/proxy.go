// Package faults has a TCP proxy that loses, holds and cuts the replies of a server.
package faults

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Proxy stands between a client and a server. What the client sends always reaches the server.
type Proxy struct {
	Addr   string
	target string
	l      net.Listener

	mu    sync.Mutex
	cond  *sync.Cond
	drop  int  // replies to lose, with their connection
	held  bool // replies wait
	off   bool // nothing passes in either direction, and nobody is told
	conns map[net.Conn]bool
}

// NewProxy starts a proxy to target, which ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{Addr: l.Addr().String(), target: target, l: l, conns: map[net.Conn]bool{}}
	p.cond = sync.NewCond(&p.mu)
	go p.serve()
	t.Cleanup(func() {
		_ = l.Close()
		p.Pass()
		p.Cut()
	})
	return p
}

// Drop loses the next n replies: the server has done the work, and the connection ends.
func (p *Proxy) Drop(n int) { p.mu.Lock(); p.drop = n; p.mu.Unlock() }

// Hold keeps all replies back until Pass.
func (p *Proxy) Hold() { p.mu.Lock(); p.held = true; p.mu.Unlock() }

// Freeze stops both directions until Pass, without closing anything: a cut cable.
func (p *Proxy) Freeze() { p.mu.Lock(); p.off = true; p.mu.Unlock() }

// Pass ends all of these.
func (p *Proxy) Pass() {
	p.mu.Lock()
	p.drop, p.held, p.off = 0, false, false
	p.mu.Unlock()
	p.cond.Broadcast()
}

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) serve() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		var once sync.Once
		end := func() {
			once.Do(func() {
				_, _ = client.Close(), server.Close()
				p.mu.Lock()
				delete(p.conns, client)
				delete(p.conns, server)
				p.mu.Unlock()
			})
		}
		go func() { defer end(); p.copy(server, client, p.request) }()
		go func() { defer end(); p.copy(client, server, p.reply) }()
	}
}

// copy passes what pass lets through.
func (p *Proxy) copy(to io.Writer, from io.Reader, pass func() bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !pass() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) request() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off {
		p.cond.Wait()
	}
	return true
}

func (p *Proxy) reply() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off || p.held {
		p.cond.Wait()
	}
	if p.drop > 0 {
		p.drop--
		return false
	}
	return true
}
