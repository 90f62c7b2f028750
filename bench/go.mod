module github.com/mcp-requeststate/requeststate-go/bench

go 1.26

require (
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/gosdk v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo v0.0.0-00010101000000-000000000000
	github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

replace github.com/mcp-requeststate/requeststate-go => ..

replace github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay => ../requeststate/replay/redisreplay

replace github.com/mcp-requeststate/requeststate-go/requeststate/gosdk => ../requeststate/gosdk

replace github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo => ../requeststate/mcpgo
