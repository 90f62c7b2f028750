module github.com/mcp-requeststate/requeststate-go

go 1.26.0

require (
	github.com/go-jose/go-jose/v4 v4.1.9
	github.com/stretchr/testify v1.12.1
	golang.org/x/crypto v0.59.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
