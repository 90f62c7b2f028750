package redisreplay

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed script.lua
var script string

// scriptSHA names the script on the server. It is written down and not computed, because redis.NewScript computes
// SHA-1, which panics under GODEBUG=fips140=only; a test compares.
const scriptSHA = "ee14bdcda1796f457ef684cbb8945c4379f755dc"

// reply is what the script answers.
type reply struct {
	verdict, epoch string
	cursor         string // of a sweep
	forgotten      int64
}

// eval runs the script. EVALSHA costs less; a server that was restarted, or whose scripts were flushed, gets the text.
func eval(ctx context.Context, c redis.Scripter, key string, args []any) (reply, error) {
	cmd := c.EvalSha(ctx, scriptSHA, []string{key}, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = c.Eval(ctx, script, []string{key}, args...)
	}
	raw, err := cmd.Slice()
	if err != nil {
		return reply{}, err
	}
	return parse(raw)
}

func parse(raw []any) (r reply, err error) {
	if len(raw) < 2 {
		return r, fmt.Errorf("redisreplay: the script answered %d values", len(raw))
	}
	var ok [2]bool
	r.verdict, ok[0] = raw[0].(string)
	r.epoch, ok[1] = raw[1].(string)
	if !ok[0] || !ok[1] || r.epoch == "" {
		return r, errors.New("redisreplay: the script's answer is not its own")
	}
	if len(raw) == 4 {
		r.cursor = fmt.Sprint(raw[2])
		r.forgotten, _ = raw[3].(int64)
	}
	return r, nil
}

func seconds(unix int64) string { return strconv.FormatInt(unix, 10) }
