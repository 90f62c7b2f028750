module github.com/mcp-requeststate/requeststate-go/examples

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/gosdk v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
	modernc.org/sqlite v1.62.0
)

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/mcp-requeststate/requeststate-go => ..

replace github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay => ../requeststate/replay/redisreplay

replace github.com/mcp-requeststate/requeststate-go/requeststate/gosdk => ../requeststate/gosdk

replace github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo => ../requeststate/mcpgo
