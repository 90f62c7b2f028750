package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
)

func nobody(context.Context, mcpgo.Request) (string, error) { return "", nil }

func TestConfigurationErrors(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	storeless, err := aead.New(w.Ring, requeststate.WithoutAudience())
	require.NoError(t, err)
	for name, test := range map[string]struct {
		sealer    requeststate.Sealer
		principal mcpgo.Principal
		opts      []mcpgo.Option
		want      string
	}{
		"no sealer":       {nil, nobody, nil, "nil Sealer"},
		"no principal":    {w.Sealer, nil, nil, "principal function is required"},
		"nil option":      {w.Sealer, nobody, []mcpgo.Option{nil}, "nil Option"},
		"no store":        {storeless, nobody, []mcpgo.Option{mcpgo.SingleUse("a")}, "needs WithReplayStore"},
		"no store either": {storeless, nobody, []mcpgo.Option{mcpgo.SingleRedemption("a")}, "needs WithReplayStore"},
		"both modes":      {w.Sealer, nobody, []mcpgo.Option{mcpgo.SingleUse("a"), mcpgo.SingleRedemption("a")}, "to be both"},
		"TTL too long":    {w.Sealer, nobody, []mcpgo.Option{mcpgo.TTL(time.Hour, "a")}, "sealer's maximum"},
	} {
		t.Run(name, func(t *testing.T) {
			protect, err := mcpgo.Protect(test.sealer, test.principal, test.opts...)
			require.ErrorContains(t, err, test.want)
			assert.Nil(t, protect)
		})
	}
}

// serve serves one tool under a name, in the process.
func serve(t *testing.T, w *mrtrtest.World, name string, h server.ToolHandlerFunc, opts ...mcpgo.Option) *memoryServer {
	protect, err := mcpgo.Protect(w.Sealer, bearerUser, append(opts, mcpgo.WithLogger(w.Logger))...)
	require.NoError(t, err)
	s := server.NewMCPServer("test", "1", protect)
	s.AddTool(mcp.NewTool(name), h)
	return &memoryServer{MCPServer: s}
}

func (m *memoryServer) call(t *testing.T, method string, params map[string]any) mrtrtest.Response {
	t.Helper()
	r, err := m.Do(t.Context(), "alice", method, params)
	require.NoError(t, err)
	return r
}

// A misspelt name would leave a tool without single use, so nothing works until it is right.
func TestNamesMustExist(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	m := serve(t, w, "plain", tool(w), mcpgo.SingleUse("plain", "greet"), mcpgo.TTL(time.Minute, "late"))
	plain := map[string]any{"name": "plain"}
	assert.JSONEq(t, internal, string(m.call(t, "tools/call", plain).Error))
	assert.Contains(t, w.Log(), `options name [\"greet\" \"late\"]`)
	assert.NotNil(t, m.call(t, "tools/list", nil).Result, "other methods are untouched")

	m.AddPrompt(mcp.NewPrompt("greet"), prompt(w))
	m.AddTool(mcp.NewTool("late"), tool(w))
	assert.Nil(t, m.call(t, "tools/call", plain).Error)
}

// Hooks that replace ours would let calls as tasks through, unprotected.
func TestHooksGivenAfter(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	protect, err := mcpgo.Protect(w.Sealer, nobody, mcpgo.WithLogger(w.Logger))
	require.NoError(t, err)
	s := server.NewMCPServer("test", "1", protect, server.WithHooks(&server.Hooks{}))
	s.AddTool(mcp.NewTool("plain"), tool(w))
	s.AddTaskTool(mcp.NewTool("task", mcp.WithTaskSupport(mcp.TaskSupportRequired)), taskThatRuns(t))
	s.AddPrompt(mcp.NewPrompt("greet"), prompt(w))
	s.AddResource(mcp.NewResource("test://r", "r"), nil)
	m := &memoryServer{MCPServer: s}
	assert.JSONEq(t, internal, string(m.call(t, "prompts/get", map[string]any{"name": "greet"}).Error))
	assert.JSONEq(t, internal, string(m.call(t, "resources/read", map[string]any{"uri": "test://r"}).Error))
	for _, name := range []string{"plain", "task"} {
		call := map[string]any{"name": name, "requestState": "forged", "task": map[string]any{"ttl": 1000}}
		assert.Contains(t, string(m.call(t, "tools/call", call).Error), "not found")
	}
	assert.JSONEq(t, `[]`, string(field(t, m.call(t, "tools/list", nil).Result, "tools")))
	assert.Contains(t, w.Log(), "WithHooks was given after mcpgo.Protect")

	var seen int
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(func(context.Context, any, *mcp.CallToolRequest) { seen++ })
	s = server.NewMCPServer("test", "1", server.WithHooks(hooks), protect)
	s.AddTool(mcp.NewTool("plain"), tool(w))
	m = &memoryServer{MCPServer: s}
	assert.Nil(t, m.call(t, "tools/call", map[string]any{"name": "plain"}).Error)
	assert.Equal(t, 1, seen, "hooks given before are kept")
}

// taskThatRuns fails the test if it does.
func taskThatRuns(t *testing.T) server.TaskToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		t.Error("a task ran")
		return nil, errors.New("ran")
	}
}

func field(t *testing.T, object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &members))
	return members[name]
}

// One option protects several servers, each with the hooks and tools of its own.
func TestOneOptionForSeveralServers(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	protect, err := mcpgo.Protect(w.Sealer, bearerUser, mcpgo.WithLogger(w.Logger), mcpgo.SingleUse("once"))
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		s := server.NewMCPServer("test", "1", server.WithHooks(&server.Hooks{}), protect)
		m := &memoryServer{MCPServer: s}
		all.Go(func() {
			once := map[string]any{"name": "once"}
			s.AddTool(mcp.NewTool("plain"), tool(w))
			assert.JSONEq(t, internal, string(m.call(t, "tools/call", map[string]any{"name": "plain"}).Error), "it has no such tool")
			s.AddTool(mcp.NewTool("once"), tool(w))
			assert.Nil(t, m.call(t, "tools/call", once).Error)
		})
	}
	all.Wait()
}

// A session's own tool is not among the server's.
func TestUnlisted(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	m := serve(t, w, "plain", tool(w), mcpgo.SingleUse("of a session"), mcpgo.Unlisted("of a session"))
	assert.Nil(t, m.call(t, "tools/call", map[string]any{"name": "plain"}).Error)
}

// A task passes no middleware: its state would leave in plain.
func TestTasksAreRefused(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	protect, err := mcpgo.Protect(w.Sealer, bearerUser, mcpgo.WithLogger(w.Logger))
	require.NoError(t, err)
	s := server.NewMCPServer("test", "1", server.WithTaskCapabilities(true, true, true), protect)
	s.AddTool(mcp.NewTool("hybrid", mcp.WithTaskSupport(mcp.TaskSupportOptional)), tool(w))
	s.AddTaskTool(mcp.NewTool("task", mcp.WithTaskSupport(mcp.TaskSupportRequired)), taskThatRuns(t))
	m := &memoryServer{MCPServer: s}
	for _, member := range []string{"task", "Task", "ta\u017fk"} {
		for _, name := range []string{"hybrid", "task"} {
			r := m.call(t, "tools/call", map[string]any{"name": name, member: map[string]any{"ttl": 1000}})
			assert.Contains(t, string(r.Error), "not run as tasks", "%s %s %s", member, name, r.Result)
		}
	}
	assert.Nil(t, m.call(t, "tools/call", map[string]any{"name": "hybrid", "task": nil}).Error)
	assert.NotNil(t, m.call(t, "tools/list", nil).Result)
}

// A resource handler of this SDK cannot ask, so no state is its own.
func TestResources(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	m := &memoryServer{MCPServer: newServer(t, w)}
	read := func(more map[string]any) mrtrtest.Response {
		params := map[string]any{"uri": "test://r"}
		for k, v := range more {
			params[k] = v
		}
		return m.call(t, "resources/read", params)
	}
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	for _, token := range []string{a.First("plain"), "forged"} {
		assert.JSONEq(t, frozen, string(read(map[string]any{"requestState": token}).Error))
	}
	r := read(map[string]any{"inputResponses": mrtrtest.Answer("accept")})
	assert.Contains(t, string(r.Result), `"read"`, "the answers are dropped")
	assert.Contains(t, w.Log(), `"reason":"other request"`)
}

func TestPrincipals(t *testing.T) {
	for name, test := range map[string]struct {
		principal mcpgo.Principal
		log       string
	}{
		"none":            {nobody, "AllowAnonymous"},
		"an error":        {says("", errors.New("revoked")), "revoked"},
		"a library error": {says("u", requeststate.ErrExpired), "principal:"},
		"an outage":       {says("u", requeststate.ErrUnavailable), "principal:"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			strict := w.NewSealer(t, requeststate.WithAudience("mrtrtest"))
			protect, err := mcpgo.Protect(strict, test.principal, mcpgo.WithLogger(w.Logger))
			require.NoError(t, err)
			s := server.NewMCPServer("test", "1", protect)
			s.AddTool(mcp.NewTool("plain"), tool(w))
			r := (&memoryServer{MCPServer: s}).call(t, "tools/call", map[string]any{"name": "plain"})
			assert.JSONEq(t, internal, string(r.Error))
			assert.Contains(t, w.Log(), test.log)
		})
	}
}

func says(who string, err error) mcpgo.Principal {
	return func(context.Context, mcpgo.Request) (string, error) { return who, err }
}

func TestErrorsOfHandlers(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"its own":     {errors.New("no such card"), `{"code":-32603,"message":"no such card"}`},
		"a rejection": {fmt.Errorf("opening: %w", requeststate.ErrConsumed), frozen},
		"an outage":   {requeststate.ErrUnavailable, internal},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, mrtrtest.NewWorld(t), "plain", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, test.err
			})
			assert.JSONEq(t, test.want, string(m.call(t, "tools/call", map[string]any{"name": "plain"}).Error))
		})
	}
}

// A handler may return the same result every time.
func TestNothingIsChangedInPlace(t *testing.T) {
	shared := server.NewInputRequestBuilder(mrtrtest.StateText).Roots("roots").ToolResult()
	m := serve(t, mrtrtest.NewWorld(t), "plain", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return shared, nil
	})
	for range 2 {
		r := m.call(t, "tools/call", map[string]any{"name": "plain"})
		assert.Contains(t, string(r.Result), `"requestState"`)
		assert.NotContains(t, string(r.Result), mrtrtest.StateText)
	}
	assert.Equal(t, mrtrtest.StateText, shared.RequestState)
}
