module github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay

go 1.26

require (
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
)

replace github.com/mcp-requeststate/requeststate-go => ../../..
