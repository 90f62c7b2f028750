package jose_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// A signed JWT has claims that any JWT debugger shows. The principal and the arguments are not among them, only tags.
func ExampleNewJWS() {
	keys, err := jose.ParseKeys([]byte(`{"keys":[{"kty":"oct","k":"jywdapC34_RYHC1-mrBPY3DF2OHymks8bX6PkKGyw9Q"}]}`))
	if err != nil {
		panic(err)
	}
	ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
	if err != nil {
		panic(err)
	}
	sealer, err := jose.NewJWS(ring, requeststate.WithAudience("https://example.com/mcp"))
	if err != nil {
		panic(err)
	}
	bind := []requeststate.Binding{
		requeststate.Principal("https://issuer.example", "alice"),
		requeststate.ToolCall("deploy", []byte(`{"env":"staging"}`)),
	}
	ctx := context.Background()
	token, err := requeststate.SealJSON(ctx, sealer, map[string]int{"step": 1}, bind...)
	if err != nil {
		panic(err)
	}
	claims, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	fmt.Println(regexp.MustCompile(`"\w+":`).FindAllString(string(claims), -1))

	opened, err := sealer.Open(ctx, token, bind...)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", opened.State)
	// Output:
	// ["jti": "iat": "exp": "aud": "rs_deadline": "rs_principal": "rs_request": "rs_json": "step":]
	// {"step":1}
}
