module github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo

go 1.26

require (
	github.com/mark3labs/mcp-go v1.2.1
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

replace github.com/mcp-requeststate/requeststate-go => ../..
