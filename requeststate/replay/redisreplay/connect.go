package redisreplay

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// connect takes the caller's client, sees to it that a call ends with its context, and counts the connections it makes.
func (s *Store) connect(ctx context.Context, client redis.UniversalClient) error {
	hook := dialHook{&s.dials}
	s.client = client
	switch c := client.(type) {
	case *redis.Client:
		c.AddHook(hook) // to the caller's client, which makes the connections; the copy only uses them
		// Half, so that after a reply that does not come there is time for the client's second attempt, which recognises
		// what the first one wrote.
		clone := c.WithTimeout(s.timeout / 2)
		// The default is that a deadline does not end a read. The options of the copy are its own.
		clone.Options().ContextTimeoutEnabled = true
		s.client = clone
	case *redis.ClusterClient:
		if !c.Options().ContextTimeoutEnabled {
			return errors.New("redisreplay: set ContextTimeoutEnabled in the ClusterOptions: a call must end by its deadline")
		}
		// A cluster's client makes no connections, its nodes' clients do.
		c.OnNewNode(func(node *redis.Client) { node.AddHook(hook) })
		return c.ForEachShard(ctx, func(_ context.Context, node *redis.Client) error {
			node.AddHook(hook)
			return nil
		})
	default:
		client.AddHook(hook)
	}
	return nil
}

// dialHook counts connections.
type dialHook struct{ dials *atomic.Int64 }

func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			h.dials.Add(1)
		}
		return conn, err
	}
}
func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
