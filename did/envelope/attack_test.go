package envelope_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// signed returns a permission, and who may have signed it.
func signed(t testing.TB) (envelope.Envelope, envelope.KeySource) {
	t.Helper()
	signer := envelopetest.Repeat(1)
	e, err := envelope.Seal(context.Background(), samplePermission(t), signer)
	if err != nil {
		t.Fatal(err)
	}
	return e, envelopetest.Keys{
		harbor: {"key-1": signer.Public(), "key-2": envelopetest.Repeat(2).Public()},
		line:   {"key-1": envelopetest.Repeat(3).Public()},
	}
}

func open(e envelope.Envelope, src envelope.KeySource) error {
	_, err := envelope.Open[permission](context.Background(), e, src)
	return err
}

func withBody(e envelope.Envelope, body string) envelope.Envelope {
	e.Body = []byte(body)
	return e
}

func wantForm(t *testing.T, err error, path, what string) {
	t.Helper()
	var f *envelope.FormError
	if !errors.As(err, &f) || f.Path != path || f.What != what {
		t.Errorf("error = %v, want %s: %s", err, path, what)
	}
}

// members splits a canonical object into its members, each "name":value.
func members(t *testing.T, body []byte) (names []string, texts map[string]string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for name, value := range m {
		names = append(names, name)
		texts[name] = `"` + name + `":` + string(value)
	}
	sort.Strings(names)
	return names, texts
}

func TestEachFieldOfASignedObjectIsGuardedByName(t *testing.T) {
	e, src := signed(t)
	if err := open(e, src); err != nil {
		t.Fatal(err)
	}
	optional := map[string]bool{"governing_charter": true}
	names, texts := members(t, e.Body)
	if len(names) != 12 {
		t.Fatalf("the permission has %d members, expected 12", len(names))
	}
	for i, name := range names {
		body, text := string(e.Body), texts[name]
		t.Run(name+" twice", func(t *testing.T) {
			twice := strings.Replace(body, text, text+","+text, 1)
			wantForm(t, open(withBody(e, twice), src), name, "duplicate key")
		})
		t.Run(name+" twice, the second at the end", func(t *testing.T) {
			late := strings.TrimSuffix(body, "}") + "," + text + "}"
			wantForm(t, open(withBody(e, late), src), name, "duplicate key")
		})
		t.Run(name+" in another case", func(t *testing.T) {
			upper := strings.ToUpper(name[:1]) + name[1:]
			cased := strings.Replace(body, `"`+name+`":`, `"`+upper+`":`, 1)
			wantForm(t, open(withBody(e, cased), src), upper, "unknown key")
		})
		t.Run("an unknown member before "+name, func(t *testing.T) {
			unknown := strings.Replace(body, text, `"`+name[:len(name)-1]+`":1,`+text, 1)
			wantForm(t, open(withBody(e, unknown), src), name[:len(name)-1], "unknown key")
		})
		t.Run(name+" left out", func(t *testing.T) {
			without := strings.Replace(strings.Replace(body, text, "", 1), ",,", ",", 1)
			without = strings.NewReplacer("{,", "{", ",}", "}").Replace(without)
			err := open(withBody(e, without), src)
			if optional[name] {
				if !errors.Is(err, envelope.ErrSignature) {
					t.Errorf("error = %v, want ErrSignature", err)
				}
				return
			}
			wantForm(t, err, name, "missing")
		})
		if i > 0 {
			t.Run(name+" before its predecessor", func(t *testing.T) {
				before := texts[names[i-1]]
				swapped := strings.Replace(body, before+","+text, text+","+before, 1)
				if swapped == body {
					t.Fatal("nothing was exchanged")
				}
				var f *envelope.FormError
				if err := open(withBody(e, swapped), src); !errors.As(err, &f) || !strings.Contains(f.What, "out of order") {
					t.Errorf("error = %v, want out of order", err)
				}
			})
		}
	}
}

func TestEachChangedByteOfTheBodyIsRefused(t *testing.T) {
	e, src := signed(t)
	for i := range e.Body {
		for bit := range 8 {
			body := bytes.Clone(e.Body)
			body[i] ^= 1 << bit
			changed := e
			changed.Body = body
			if open(changed, src) == nil {
				t.Errorf("byte %d, bit %d: %s was accepted", i, bit, body)
			}
		}
	}
}

func TestEachChangedBitOfASerializationIsRefused(t *testing.T) {
	e, src := signed(t)
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]struct {
		text  string
		parse func(string) (envelope.Envelope, error)
	}{
		"DSSE":    {string(e.DSSE()), func(s string) (envelope.Envelope, error) { return envelope.ParseDSSE([]byte(s), 4096) }},
		"compact": {compact, func(s string) (envelope.Envelope, error) { return envelope.ParseCompact(s, e.Type, 4096) }},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			read := func(s string) error {
				e, err := form.parse(s)
				if err != nil {
					return err
				}
				return open(e, src)
			}
			if err := read(form.text); err != nil {
				t.Fatal(err)
			}
			for i := range form.text {
				for bit := range 8 {
					b := []byte(form.text)
					if b[i] ^= 1 << bit; read(string(b)) == nil {
						t.Errorf("byte %d, bit %d was accepted", i, bit)
					}
				}
				if read(form.text[:i]) == nil {
					t.Errorf("cut to %d bytes, it was accepted", i)
				}
			}
			for _, more := range []string{"\n", " ", "\x00", "=", ".", "A", form.text} {
				if read(form.text+more) == nil {
					t.Errorf("with %q appended it was accepted", more)
				}
				if read(more+form.text) == nil {
					t.Errorf("with %q in front it was accepted", more)
				}
			}
		})
	}
}

// badDSSE are changes that leave the same meaning to a lenient reader.
func TestDSSEHasOneSpelling(t *testing.T) {
	e, _ := signed(t)
	good := string(e.DSSE())
	sig := `{"keyid":"key-1","sig":"` + strings.Split(strings.Split(good, `"sig":"`)[1], `"`)[0] + `"}`
	for _, c := range []struct{ name, old, new, path, what string }{
		{"white space between members", `,"payloadType"`, `, "payloadType"`, "payloadType", "missing, repeated, or not where the one form of DSSE JSON has it"},
		{"members in another order", `{"payload":`, `{"payloadType":"x","payload":`, "payload", "missing, repeated, or not where the one form of DSSE JSON has it"},
		{"an unknown member", `"signatures":[`, `"x":1,"signatures":[`, "signatures", "missing, repeated, or not where the one form of DSSE JSON has it"},
		{"a line feed in the payload", `{"payload":"`, "{\"payload\":\"\n", "payload", "not canonical base64"},
		{"payload in base64url", "+/8=", "-_8=", "payload", "not canonical base64"},
		{"payload without padding", `=","payloadType"`, `","payloadType"`, "payload", "not canonical base64"},
		{"a type in upper case", "vnd.trustnode.permission", "vnd.trustnode.Permission", "payloadType", "not a type of this project"},
		{"a type with a version to come", ".v1+json", ".v2+json", "payloadType", "not a type of this project"},
		{"an empty keyid", `"keyid":"key-1"`, `"keyid":""`, "signatures[0].keyid", "not the fragment of a DID URL"},
		{"an escape in the keyid", `"keyid":"key-1"`, `"keyid":"key\u002d1"`, "signatures[0].keyid", "not the fragment of a DID URL"},
		{"a keyid of 257 bytes", `"keyid":"key-1"`, `"keyid":"` + strings.Repeat("k", 257) + `"`, "signatures[0].keyid", "not the fragment of a DID URL"},
		{"a signature of 63 bytes", sig, `{"keyid":"key-1","sig":"` + strings.Repeat("A", 84) + `"}`, "signatures[0].sig", "63 bytes, expected 64"},
		{"a signature twice", sig, sig + "," + sig, "signatures[1]", "out of order, or a repetition"},
		{"signatures out of order", sig, sig + "," + strings.Replace(sig, "key-1", "a", 1), "signatures[1]", "out of order, or a repetition"},
		{"no comma between signatures", sig, sig + sig, "signatures[0]", "expected a comma or the end"},
		{"a foreign member in a signature", sig, strings.Replace(sig, "}", `,"cert":""}`, 1), "signatures[0].sig", "missing, repeated, or not where the one form of DSSE JSON has it"},
		{"129 signatures", sig, manySignatures(129), "signatures[128]", "more than 128 signatures"},
		{"a byte after the end", "]}", "]} ", "", "bytes after the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.new, 1)
			if c.old == "]}" {
				bad = good + " "
			}
			if bad == good {
				// The sample has no such character or padding: another body does.
				short := envelope.Envelope{Type: e.Type, Body: []byte("\xfb\xff"), Signatures: e.Signatures}
				good := string(short.DSSE())
				if bad = strings.Replace(good, c.old, c.new, 1); bad == good {
					t.Fatalf("%q does not occur", c.old)
				}
			}
			_, err := envelope.ParseDSSE([]byte(bad), 4096)
			wantForm(t, err, c.path, c.what)
		})
	}
	all := strings.Replace(good, sig, manySignatures(128), 1)
	if got, err := envelope.ParseDSSE([]byte(all), 4096); err != nil || string(got.DSSE()) != all {
		t.Errorf("128 signatures: %v", err)
	}
}

func manySignatures(n int) string {
	e := envelope.Envelope{}
	for i := range n {
		var sig did.Signature
		sig[0] = byte(i)
		e = e.With(envelope.Signature{KeyID: "k", Sig: sig})
	}
	_, list, _ := strings.Cut(string(e.DSSE()), `"signatures":[`)
	return strings.TrimSuffix(list, "]}")
}

func TestCompactHasOneSpelling(t *testing.T) {
	e, _ := signed(t)
	good, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	body, sig, _ := strings.Cut(good, ".")
	for _, c := range []struct{ name, text, path, what string }{
		{"no full stop", body + sig, "", "no full stop between body and signature"},
		{"a line feed in the body", body[:4] + "\n" + body[4:] + "." + sig, "payload", "not canonical base64"},
		{"padding", body + "." + sig + "==", "sig", "not canonical base64"},
		{"trailing bits set in the signature", body + "." + sig[:len(sig)-1] + "B", "sig", "not canonical base64"},
		{"two signatures", good + "." + sig, "sig", "not canonical base64"},
		{"an empty signature", body + ".", "sig", "0 bytes, expected 64"},
		{"a body that is not canonical", "eyAia2lkIjoiayJ9." + sig, "", "white space, expected string"},
		{"a body without kid", "e30." + sig, "kid", "missing"},
		{"a kid that is no fragment", "eyJraWQiOiJhIGIifQ." + sig, "kid", "not the fragment of a DID URL"},
		{"a kid that is no string", "eyJraWQiOjF9." + sig, "kid", "number, expected string"},
		{"a body that is no object", "W10." + sig, "", "array, expected object"},
		{"a byte after the body", "eyJraWQiOiJrIn0K." + sig, "", "bytes after the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := envelope.ParseCompact(c.text, e.Type, 4096)
			wantForm(t, err, c.path, c.what)
		})
	}
}

func TestCapsAreCheckedBeforeParsing(t *testing.T) {
	e, src := signed(t)
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	n := len(e.Body)
	if _, err := envelope.ParseDSSE(e.DSSE(), n-1); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("DSSE above the cap: %v", err)
	}
	if _, err := envelope.ParseDSSE(bytes.Repeat([]byte("{"), 1<<20), n); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("a large text that is no DSSE: %v", err)
	}
	if _, err := envelope.ParseCompact(compact, e.Type, n-1); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("compact above the cap: %v", err)
	}
	if _, err := envelope.ParseDSSE(e.DSSE(), n); err != nil {
		t.Errorf("DSSE at the cap: %v", err)
	}
	if _, err := envelope.ParseCompact(compact, e.Type, n); err != nil {
		t.Errorf("compact at the cap: %v", err)
	}
	e.Body = bytes.Repeat([]byte(" "), 4097)
	if err := open(e, src); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("a body above the cap of its type: %v", err)
	}
}

func TestTheWrongSignerIsRefused(t *testing.T) {
	e, src := signed(t)
	ctx := context.Background()
	other, err := envelopetest.Repeat(2).Sign(ctx, e.Preimage())
	if err != nil {
		t.Fatal(err)
	}
	sig := e.Signatures[0]
	for _, c := range []struct {
		name string
		sigs []envelope.Signature
		want error
	}{
		{"another key of the issuer under the same keyid", []envelope.Signature{{KeyID: "key-1", Sig: other}}, envelope.ErrSignature},
		{"another key of the issuer under its own keyid", []envelope.Signature{{KeyID: "key-2", Sig: other}}, &envelope.FormError{}},
		{"the right signature under another keyid", []envelope.Signature{{KeyID: "key-2", Sig: sig.Sig}}, &envelope.FormError{}},
		{"the right signature and a second one", []envelope.Signature{sig, {KeyID: "key-2", Sig: other}}, &envelope.FormError{}},
		{"no signature", nil, &envelope.FormError{}},
		{"a signature of zeros", []envelope.Signature{{KeyID: "key-1"}}, envelope.ErrSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := e
			changed.Signatures = c.sigs
			err := open(changed, src)
			var f *envelope.FormError
			if errors.As(c.want, &f) && errors.As(err, &f) || errors.Is(err, c.want) {
				return
			}
			t.Errorf("error = %v, want %T", err, c.want)
		})
	}
	for _, want := range []error{envelope.ErrUnknownKey, envelope.ErrRetired, envelope.ErrPending} {
		src := envelope.KeySourceFunc(func(_ context.Context, d did.DID, kid string) (did.Key, error) {
			if d != harbor || kid != "key-1" {
				t.Errorf("asked for %s#%s", d, kid)
			}
			return did.Key{}, want
		})
		if err := open(e, src); !errors.Is(err, want) {
			t.Errorf("error = %v, want %v", err, want)
		}
	}
	none := envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) { return did.Key{}, nil })
	if err := open(e, none); err == nil {
		t.Error("a source that answers with no key and no error let the object pass")
	}
}

func TestAnObjectOfAnotherTypeIsRefused(t *testing.T) {
	e, src := signed(t)
	_, err := envelope.Open[ballot](context.Background(), e, src)
	var got *envelope.TypeError
	if !errors.As(err, &got) || *got != (envelope.TypeError{Got: e.Type, Want: envelope.TypeOf("ballot")}) {
		t.Errorf("error = %v", err)
	}
	// The label is signed: the same body under another label does not verify.
	e.Type = envelope.TypeOf("twin")
	if _, err := envelope.Open[twin](context.Background(), e, src); !errors.Is(err, envelope.ErrSignature) {
		t.Errorf("relabelled: %v, want ErrSignature", err)
	}
}

// twin is a permission under another label.
type twin struct{ permission }

func (twin) Payload() envelope.Type { return envelope.TypeOf("twin") }

func TestABodyThatFailsItsOwnCheckIsNeitherSealedNorOpened(t *testing.T) {
	p := samplePermission(t)
	p.MaxReads = 0
	if _, err := envelope.Seal(context.Background(), p, envelopetest.Repeat(1)); err == nil {
		t.Error("sealed")
	}
	e, src := signed(t)
	zero := withBody(e, strings.Replace(string(e.Body), `"max_reads":5000`, `"max_reads":0`, 1))
	if err := open(zero, src); !errors.Is(err, errNoReads) {
		t.Errorf("opened: %v", err)
	}
	wantForm(t, open(zero, src), "", "max_reads is 0")
	p = samplePermission(t)
	p.Purpose = strings.Repeat("x", 4096)
	if _, err := envelope.Seal(context.Background(), p, envelopetest.Repeat(1)); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("sealed above the cap: %v", err)
	}
	p = samplePermission(t)
	p.Kid = "two words"
	_, err := envelope.Seal(context.Background(), p, envelopetest.Repeat(1))
	wantForm(t, err, "kid", "not the fragment of a DID URL")
}
