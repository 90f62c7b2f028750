module github.com/mcp-requeststate/requeststate-go/examples

go 1.26.0

require (
	github.com/mark3labs/mcp-go v1.2.1
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/gosdk v0.0.0-00010101000000-000000000000
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	modernc.org/libc v1.80.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jackc/pgx/v5 v5.13.0
	github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay v0.0.0-00010101000000-000000000000
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	modernc.org/sqlite v1.62.0
)

replace github.com/mcp-requeststate/requeststate-go => ..

replace github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay => ../requeststate/replay/redisreplay

replace github.com/mcp-requeststate/requeststate-go/requeststate/gosdk => ../requeststate/gosdk

replace github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo => ../requeststate/mcpgo
