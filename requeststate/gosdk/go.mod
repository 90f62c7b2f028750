module github.com/mcp-requeststate/requeststate-go/requeststate/gosdk

go 1.26

require (
	github.com/mcp-requeststate/requeststate-go v0.0.0-00010101000000-000000000000
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/stretchr/testify v1.12.1
)

replace github.com/mcp-requeststate/requeststate-go => ../..
