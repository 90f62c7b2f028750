module github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay

go 1.26

replace github.com/mcp-requeststate/requeststate-go => ../../..
