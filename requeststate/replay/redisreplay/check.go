package redisreplay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
)

// check finds out at start what would otherwise fail at the first redemption.
func (s *Store) check(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.checkServer(ctx, master)
		})
		if err != nil {
			return err
		}
	} else if err := s.checkServer(ctx, s.client); err != nil {
		return err
	}
	if err := s.probe(ctx); err != nil {
		return err
	}
	if _, err := eval(ctx, s.client, s.key(0), []any{"open", random(), trusted(s.trust), s.clock()}); err != nil {
		return named("for the script", err)
	}
	return nil
}

// informant is what a server tells about itself.
type informant interface {
	Info(ctx context.Context, section ...string) *redis.StringCmd
}

func (s *Store) checkServer(ctx context.Context, client informant) error {
	memory, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return named("+info", err)
	}
	if policy := field(memory, "maxmemory_policy"); policy != "" && policy != "noeviction" {
		s.logger.LogAttrs(ctx, slog.LevelWarn,
			"redisreplay: the server may evict buckets, which makes open tokens stale; use noeviction",
			slog.String("maxmemory_policy", policy))
	}
	cluster, err := client.Info(ctx, "cluster").Result()
	if err != nil {
		return named("+info", err)
	}
	if _, single := s.client.(*redis.Client); single && field(cluster, "cluster_enabled") == "1" {
		return errors.New("redisreplay: the server is a node of a Cluster: use redis.NewClusterClient")
	}
	return nil
}

// probe names the rights that are missing: opening a bucket does not need them all, and from inside a script the server's
// error does not name them.
func (s *Store) probe(ctx context.Context) error {
	key := s.key(0) + ":probe"
	var errs []error
	for _, try := range []struct {
		right string
		cmd   redis.Cmder
	}{
		{"+eval", s.client.Eval(ctx, "return 1", []string{key})},
		{"+evalsha", s.client.EvalSha(ctx, strings.Repeat("0", 40), []string{key})},
		{"+hset", s.client.HSet(ctx, key, "a", "b")},
		{"+hmget", s.client.HMGet(ctx, key, "a")},
		{"+hget", s.client.HGet(ctx, key, "a")},
		{"+hrandfield", s.client.HRandField(ctx, key, 1)},
		{"+hscan", s.client.HScan(ctx, key, 0, "", 1)},
		{"+hdel", s.client.HDel(ctx, key, "a")},
		{"+unlink", s.client.Unlink(ctx, key)},
		{"+time", s.client.Time(ctx)},
	} {
		if redis.HasErrorPrefix(try.cmd.Err(), "NOPERM") {
			errs = append(errs, named(try.right, try.cmd.Err()))
		}
	}
	return errors.Join(errs...)
}

// named says which right is missing, if that is what the error is about.
func named(right string, err error) error {
	if redis.HasErrorPrefix(err, "NOPERM") {
		return fmt.Errorf("redisreplay: the user lacks a right (%s): %w", right, err)
	}
	return fmt.Errorf("redisreplay: the server does not answer as it must: %w", err)
}

// field is the value of a line "name:value" of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
