module github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay

go 1.26.0

replace github.com/mcp-requeststate/requeststate-go => ../../..

require (
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
