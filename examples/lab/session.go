package main

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

const (
	// lease is how long a session lives after its last request.
	lease = 15 * time.Minute
	// maxSessions is how many there are at once. The one that was idle longest makes room.
	maxSessions = 256
	// storeSize is how many tokens a session can spend before they expire.
	storeSize = 1024
)

// A session is one open page: a random key and a memory of what was spent. Both are in this process's memory alone.
// They are never sent to the page, logged or written.
type session struct {
	ring  *requeststate.Keyring
	store requeststate.ReplayStore
	used  time.Time
}

// sessions is safe for concurrent use.
type sessions struct {
	now func() time.Time
	mu  sync.Mutex
	all map[string]*session
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, all: map[string]*session{}}
}

// start makes a session and returns its name, which nobody can guess.
func (s *sessions) start() (string, *session, error) {
	key, err := requeststate.GenerateKey()
	if err != nil {
		return "", nil, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return "", nil, err
	}
	store, err := replay.NewMemory(replay.WithCapacity(storeSize), replay.WithClock(s.now))
	if err != nil {
		return "", nil, err
	}
	name := rand.Text()
	ses := &session{ring: ring, store: store}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if len(s.all) >= maxSessions {
		delete(s.all, s.idlest())
	}
	ses.used = s.now()
	s.all[name] = ses
	return name, ses, nil
}

// get returns the session and renews its lease, or nil if there is none.
func (s *sessions) get(name string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	ses := s.all[name]
	if ses != nil {
		ses.used = s.now()
	}
	return ses
}

// end forgets a session.
func (s *sessions) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}

// sweep forgets the sessions whose lease is over. s.mu is held; there are few sessions.
func (s *sessions) sweep() {
	oldest := s.now().Add(-lease)
	for name, ses := range s.all {
		if !ses.used.After(oldest) {
			delete(s.all, name)
		}
	}
}

// idlest names the session that was idle longest. s.mu is held.
func (s *sessions) idlest() (idlest string) {
	for name, ses := range s.all {
		if idlest == "" || ses.used.Before(s.all[idlest].used) {
			idlest = name
		}
	}
	return idlest
}

// sweepUntil sweeps regularly until ctx ends.
func (s *sessions) sweepUntil(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.mu.Lock()
			s.sweep()
			s.mu.Unlock()
		}
	}
}
