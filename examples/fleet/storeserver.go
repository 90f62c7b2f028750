package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// storeServer lends a replay store to the half of the fleet that is not Go. What makes a store safe (epochs, what it has
// forgotten, its script) then exists once, and not a second time in another language where it can go wrong on its own.
type storeServer struct {
	store requeststate.ReplayStore
	token string // bearer; who has it can spend ids
}

// Verdicts of a spend. Any other answer is undecided, and the effect must not run.
const (
	spent = "spent"
	used  = "used"
	stale = "stale"
)

type spendRequest struct {
	ID        string `json:"id"`
	Epoch     []byte `json:"epoch"`
	ExpiresAt int64  `json:"expiresAt"` // seconds since 1970
}

type storeReply struct {
	Epoch   []byte `json:"epoch,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

func (s *storeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) != 1 {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	reply, err := s.answer(r)
	if err != nil {
		http.Error(w, "undecided", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

func (s *storeServer) answer(r *http.Request) (storeReply, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	switch r.Method + " " + r.URL.Path {
	case "GET /epoch":
		epoch, err := s.store.Epoch(ctx)
		return storeReply{Epoch: []byte(epoch)}, err
	case "POST /spend":
		var use spendRequest
		if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<12)).Decode(&use); err != nil {
			return storeReply{}, err
		}
		return s.spend(ctx, use)
	}
	return storeReply{}, errors.New("no such call")
}

func (s *storeServer) spend(ctx context.Context, use spendRequest) (storeReply, error) {
	attempt := make([]byte, 16)
	_, _ = rand.Read(attempt) // never fails
	err := s.store.Consume(ctx, requeststate.Use{
		ID: use.ID, Epoch: string(use.Epoch), ExpiresAt: time.Unix(use.ExpiresAt, 0),
		Attempt: base64.RawURLEncoding.EncodeToString(attempt),
	})
	switch {
	case err == nil:
		return storeReply{Verdict: spent}, nil
	case errors.Is(err, requeststate.ErrUnavailable):
		return storeReply{}, err
	case errors.Is(err, requeststate.ErrConsumed):
		return storeReply{Verdict: used}, nil
	case errors.Is(err, requeststate.ErrStale):
		return storeReply{Verdict: stale}, nil
	}
	return storeReply{}, err
}
