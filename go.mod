module github.com/mcp-requeststate/requeststate-go

go 1.26.0

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/crypto v0.59.0 // indirect
)
