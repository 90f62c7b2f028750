module github.com/mcp-requeststate/requeststate-go/examples

go 1.26.0

require (
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/gosdk v0.0.0-00010101000000-000000000000
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace github.com/mcp-requeststate/requeststate-go => ..

replace github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay => ../requeststate/replay/redisreplay

replace github.com/mcp-requeststate/requeststate-go/requeststate/gosdk => ../requeststate/gosdk

replace github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo => ../requeststate/mcpgo
