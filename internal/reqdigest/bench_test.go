package reqdigest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// arguments198 is a tool call's arguments of 198 bytes, as a model writes them: no white space, names in no order.
const arguments198 = `{"service":"billing","version":"2.14.0","environment":"production","replicas":3,` +
	`"canary":true,"regions":["eu-west-1","us-east-1"],"timeout":30.5,` +
	`"notify":{"channel":"#deploys","level":"info"},"x":1}`

// orders is a JSON object of about size bytes: orders with strings, numbers, nested objects and some text that is not
// ASCII. If sorted is set, all names are in order.
func orders(size int, sorted bool) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`{"orders":[`)
	for i := 0; b.Len() < size-170; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		format := `{"id":%d,"sku":"%x","qty":%d,"price":%d.%02d,"gift":%v,` +
			`"address":{"street":"%s","city":"Zürich","zip":"8001"}}`
		if sorted {
			format = `{"a_id":%d,"b_sku":"%x","c_qty":%d,"d_price":%d.%02d,"e_gift":%v,` +
				`"f_address":{"a":"%s","b":"Zürich","c":"8001"}}`
		}
		fmt.Fprintf(&b, format, r.IntN(1e9), r.Uint32(), r.IntN(20), r.IntN(1000), r.IntN(100), i%2 == 0,
			"Main Street 17")
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// keys is an object of n members, the last name first, each name after the prefix.
func keys(n int, prefix string) []byte {
	var b strings.Builder
	b.WriteByte('{')
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, `"%s%06d":%d`, prefix, i, i)
		if i > 1 {
			b.WriteByte(',')
		}
	}
	b.WriteByte('}')
	return []byte(b.String())
}

// shuffledKeys is keys in a random order.
func shuffledKeys(n int, prefix string) []byte {
	all := strings.Split(strings.Trim(string(keys(n, prefix)), "{}"), ",")
	rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return []byte("{" + strings.Join(all, ",") + "}")
}

// nested is depth objects, each of eight members out of order, one of them the next object.
func nested(depth int) []byte {
	const before, after = `{"h":1,"c":"two","f":[3],"d":`, `,"b":null,"g":5.0,"a":true,"e":"x"}`
	return []byte(strings.Repeat(before, depth) + "0" + strings.Repeat(after, depth))
}

var benchInputs = []struct {
	name  string
	input []byte
}{
	{"198B", []byte(arguments198)},
	{"1KiB", orders(1<<10, false)},
	{"64KiB", orders(64<<10, false)},
	{"64KiBSorted", orders(64<<10, true)},
	{"1MiB", orders(1<<20, false)},
	{"10kKeysReverse", keys(10_000, "")},
	{"10kKeysShuffled", shuffledKeys(10_000, "")},
	{"10kKeysLongPrefix", shuffledKeys(10_000, strings.Repeat("p", 200))},
	{"Deep998", nested(998)},
	{"63Keys", shuffledKeys(63, "key")},
}

// BenchmarkToolCall is the digest; BenchmarkSHA256, in the same run, what its ratio is to.
func BenchmarkToolCall(b *testing.B) {
	for _, c := range benchInputs {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.input)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ToolCall("deploy", c.input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSHA256(b *testing.B) {
	for _, c := range benchInputs {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.input)))
			for b.Loop() {
				sha256.Sum256(c.input)
			}
		})
	}
}

// BenchmarkSum is ToolCall's request as the params of a retry, where the other members are checked and left out.
func BenchmarkSum(b *testing.B) {
	params := []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"deploy",` +
		`"arguments":` + arguments198 + `,"requestState":"` + strings.Repeat("A", 240) + `",` +
		`"inputResponses":{"confirm":{"action":"accept","content":{"yes":true}}}}`)
	b.SetBytes(int64(len(params)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Sum("tools/call", params); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPromptGet(b *testing.B) {
	arguments := map[string]string{"language": "en", "style": "terse", "topic": "deploys"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PromptGet("review", arguments); err != nil {
			b.Fatal(err)
		}
	}
}
