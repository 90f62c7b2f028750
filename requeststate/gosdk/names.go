package gosdk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"
)

// A template is a name in the options that stands for all resources of a URI template.
type template struct {
	name    string
	matches *regexp.Regexp
}

func templatesOf(names []string) (list []template, err error) {
	for _, name := range names {
		if !strings.Contains(name, "{") {
			continue
		}
		t, err := uritemplate.New(name)
		if err != nil {
			return nil, fmt.Errorf("%q looks like a URI template and is none: %w", name, err)
		}
		list = append(list, template{name, t.Regexp()})
	}
	return list, nil
}

// resourceName is the name that the options may have for uri: its own, or that of a template.
func (m *middleware) resourceName(uri string) string {
	if len(m.templates) == 0 || slices.Contains(m.guard.Names(), uri) {
		return uri
	}
	for _, t := range m.templates {
		if t.matches.MatchString(uri) {
			return t.name
		}
	}
	return uri
}

// checkNames finds names in the options that nothing on the server has: a typing mistake there would leave a tool without
// single use, in silence. Tools may be added after the middleware was made, so it looks at the first call, and again until all
// are there.
func (m *middleware) checkNames(ctx context.Context, next mcp.MethodHandler, req mcp.Request) error {
	if m.known.Load() {
		return nil
	}
	missing := m.guard.Names()
	session, _ := req.GetSession().(*mcp.ServerSession)
	for _, list := range []lister{listTools, listPrompts, listResources, listTemplates} {
		for cursor := ""; len(missing) > 0; {
			names, after, err := list(ctx, next, session, cursor)
			if err != nil {
				return fmt.Errorf("looking for %q: %w", missing, err)
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(names, name) })
			if cursor = after; cursor == "" {
				break
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no tool, prompt or resource of the server has the name %q that is in the middleware's options", missing)
	}
	m.known.Store(true)
	return nil
}

// A lister returns one page of what the server has.
type lister func(
	ctx context.Context, next mcp.MethodHandler, s *mcp.ServerSession, cursor string,
) (names []string, after string, err error)

func listTools(ctx context.Context, next mcp.MethodHandler, s *mcp.ServerSession, cursor string) ([]string, string, error) {
	req := &mcp.ListToolsRequest{Session: s, Params: &mcp.ListToolsParams{Cursor: cursor}}
	res, err := page[*mcp.ListToolsResult](ctx, next, "tools/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Tools, func(t *mcp.Tool) string { return t.Name }), res.NextCursor, nil
}

func listPrompts(ctx context.Context, next mcp.MethodHandler, s *mcp.ServerSession, cursor string) ([]string, string, error) {
	req := &mcp.ListPromptsRequest{Session: s, Params: &mcp.ListPromptsParams{Cursor: cursor}}
	res, err := page[*mcp.ListPromptsResult](ctx, next, "prompts/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Prompts, func(p *mcp.Prompt) string { return p.Name }), res.NextCursor, nil
}

func listResources(ctx context.Context, next mcp.MethodHandler, s *mcp.ServerSession, cursor string) ([]string, string, error) {
	req := &mcp.ListResourcesRequest{Session: s, Params: &mcp.ListResourcesParams{Cursor: cursor}}
	res, err := page[*mcp.ListResourcesResult](ctx, next, "resources/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Resources, func(r *mcp.Resource) string { return r.URI }), res.NextCursor, nil
}

func listTemplates(ctx context.Context, next mcp.MethodHandler, s *mcp.ServerSession, cursor string) ([]string, string, error) {
	req := &mcp.ListResourceTemplatesRequest{Session: s, Params: &mcp.ListResourceTemplatesParams{Cursor: cursor}}
	res, err := page[*mcp.ListResourceTemplatesResult](ctx, next, "resources/templates/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.ResourceTemplates, func(t *mcp.ResourceTemplate) string { return t.URITemplate }), res.NextCursor, nil
}

func page[R mcp.Result](ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (R, error) {
	res, err := next(ctx, method, req)
	typed, ok := res.(R)
	if err == nil && !ok {
		err = fmt.Errorf("%s returned a %T", method, res)
	}
	return typed, err
}

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = name(item)
	}
	return all
}
