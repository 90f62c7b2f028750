package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// typescript is the official TypeScript SDK's codec in a Node process that runs node/codec.mjs. Its digest is of sorted and
// stringified arguments, because the SDK has none of its own.
func typescript(folder string) (s subjectOf, err error) {
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		return s, errors.New("npm ci in bench/node")
	}
	cmd := exec.Command("node", "codec.mjs")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	child.Bind(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	n := &node{in: in, out: bufio.NewScanner(out)}
	job, err := json.Marshal(map[string]any{
		"tool": tool, "arguments": arguments, "issuer": issuer, "subject": subject, "state": string(state),
	})
	if err != nil {
		return s, err
	}
	chars, err := n.ask(string(job))
	return subjectOf{
		name: "TypeScript SDK, HMAC", floor: "floor HMAC", lacks: "key id, audience, single use, rotation; allocations not counted",
		chars: int(chars),
		timed: func(verb string, d time.Duration) float64 {
			ns, err := n.ask(fmt.Sprintf("%s %d", verb, max(1, d.Milliseconds())))
			must(err)
			return ns
		},
	}, err
}

// node answers a line with a number.
type node struct {
	in  io.Writer
	out *bufio.Scanner
}

func (n *node) ask(line string) (float64, error) {
	if _, err := fmt.Fprintln(n.in, line); err != nil {
		return 0, err
	}
	if !n.out.Scan() {
		return 0, errors.Join(errors.New("node ended"), n.out.Err())
	}
	return strconv.ParseFloat(strings.TrimSpace(n.out.Text()), 64)
}
