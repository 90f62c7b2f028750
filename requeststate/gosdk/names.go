package gosdk

import (
	"context"
	"fmt"
	"maps"
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
	if len(m.templates) == 0 || m.guard.Named(uri) {
		return uri
	}
	for _, t := range m.templates {
		if t.matches.MatchString(uri) {
			return t.name
		}
	}
	return uri
}

// checkNames finds names in the options that nothing on the server has: a typing mistake there would leave a tool
// without single use, in silence. Tools may be added after the middleware was made, so it looks at the first call,
// and again until all have been seen. It sees what the caller would see in the lists, with the middleware inside this
// one.
func (m *middleware) checkNames(ctx context.Context, req mcp.Request) error {
	if m.known.Load() {
		return nil
	}
	m.mu.Lock()
	missing := slices.Clone(m.missing)
	m.mu.Unlock() // a list may take its time, and other callers do not wait for it
	session, _ := req.GetSession().(*mcp.ServerSession)
	l := lister{ctx, m.next, session, req.GetExtra(), mcp.Meta(maps.Clone(req.GetParams().GetMeta()))}
	for _, list := range []func(lister, string) ([]string, string, error){
		lister.tools, lister.prompts, lister.resources, lister.templates,
	} {
		for cursor := ""; len(missing) > 0; {
			names, after, err := list(l, cursor)
			if err != nil {
				return fmt.Errorf("looking for %q: %w", missing, err)
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(names, name) })
			if cursor = after; cursor == "" {
				break
			}
		}
	}
	return m.seen(missing)
}

// seen notes the names that one caller was not shown.
func (m *middleware) seen(missing []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing = slices.DeleteFunc(m.missing, func(name string) bool { return !slices.Contains(missing, name) })
	if len(m.missing) > 0 {
		return fmt.Errorf("the middleware's options name %q, and the server has no such tool, prompt or resource, "+
			"or does not list it to this caller: see Unlisted", m.missing)
	}
	m.known.Store(true)
	return nil
}

// A lister asks the server for one page of what it has, as the client could.
type lister struct {
	ctx     context.Context
	next    mcp.MethodHandler
	session *mcp.ServerSession
	extra   *mcp.RequestExtra
	meta    mcp.Meta
}

func (l lister) tools(cursor string) ([]string, string, error) {
	req := &mcp.ListToolsRequest{Session: l.session, Extra: l.extra, Params: &mcp.ListToolsParams{Meta: l.meta, Cursor: cursor}}
	res, err := page[*mcp.ListToolsResult](l, "tools/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Tools, func(t *mcp.Tool) string { return t.Name }), res.NextCursor, nil
}

func (l lister) prompts(cursor string) ([]string, string, error) {
	req := &mcp.ListPromptsRequest{Session: l.session, Extra: l.extra, Params: &mcp.ListPromptsParams{Meta: l.meta, Cursor: cursor}}
	res, err := page[*mcp.ListPromptsResult](l, "prompts/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Prompts, func(p *mcp.Prompt) string { return p.Name }), res.NextCursor, nil
}

func (l lister) resources(cursor string) ([]string, string, error) {
	req := &mcp.ListResourcesRequest{Session: l.session, Extra: l.extra, Params: &mcp.ListResourcesParams{Meta: l.meta, Cursor: cursor}}
	res, err := page[*mcp.ListResourcesResult](l, "resources/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.Resources, func(r *mcp.Resource) string { return r.URI }), res.NextCursor, nil
}

func (l lister) templates(cursor string) ([]string, string, error) {
	req := &mcp.ListResourceTemplatesRequest{
		Session: l.session, Extra: l.extra, Params: &mcp.ListResourceTemplatesParams{Meta: l.meta, Cursor: cursor},
	}
	res, err := page[*mcp.ListResourceTemplatesResult](l, "resources/templates/list", req)
	if err != nil {
		return nil, "", err
	}
	return names(res.ResourceTemplates, func(t *mcp.ResourceTemplate) string { return t.URITemplate }), res.NextCursor, nil
}

func page[R mcp.Result](l lister, method string, req mcp.Request) (R, error) {
	res, err := l.next(l.ctx, method, req)
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
