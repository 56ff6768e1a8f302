package didpeer

import (
	"strconv"
	"strings"
	"testing"

	"trustnode/did"
)

// largest is the long form whose document swells most: as many methods as fit, each to be given the DID as controller.
func largest(b *testing.B) string {
	b.Helper()
	text := ""
	for n := 1; ; n++ {
		var methods []string
		for i := range n {
			methods = append(methods, `{"id":"#`+strconv.Itoa(i)+`","type":"Multikey","publicKeyMultibase":"`+edKey+`"}`)
		}
		pad := strings.Repeat("x", 11000-100*n)
		next := longOf([]byte(`{"verificationMethod":[` + strings.Join(methods, ",") + `],"x":"` + pad + `"}`))
		if _, err := parsed(next, ""); err != nil {
			return text
		}
		text = next
	}
}

func BenchmarkResolve(b *testing.B) {
	v := readVectors(b)
	cases := []struct{ name, did, stored string }{
		{"numalgo 0", v.Numalgo0.DID, ""},
		{"numalgo 2", v.Numalgo2.DID, ""},
		{"numalgo 4 long", v.Numalgo4.Long, ""},
		{"numalgo 4 short", v.Numalgo4.Short, v.Numalgo4.Long},
		{"numalgo 4 largest", largest(b), ""},
	}
	for _, c := range cases {
		d := did.MustParse(c.did)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.did) + len(c.stored)))
			for b.Loop() {
				if _, err := resolve(d, c.stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("floor: DecodeKey", func(b *testing.B) {
		for b.Loop() {
			if _, err := did.DecodeKey(edKey); err != nil {
				b.Fatal(err)
			}
		}
	})
}
