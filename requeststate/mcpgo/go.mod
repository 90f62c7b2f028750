module github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo

go 1.26

replace github.com/mcp-requeststate/requeststate-go => ../..
