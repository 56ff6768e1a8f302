package envelope

import (
	"strconv"

	"trustnode/did"
)

// Verdict is what one signature of several turned out to be. The zero value is invalid.
type Verdict uint8

// The verdicts.
const (
	Good    Verdict = iota + 1 // verifies under one of the keys
	Bad                        // its keyid names one of the keys, and it does not verify under it
	Unknown                    // names none of the keys, and verifies under none that was not already counted
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Good:
		return "good"
	case Bad:
		return "bad"
	case Unknown:
		return "unknown"
	}
	return "verdict " + strconv.Itoa(int(v))
}

// Checked is one signature and its verdict.
type Checked struct {
	Signature Signature
	Verdict   Verdict
	Key       did.PublicKey // the key it verifies under, if Good; the key it names, if Bad
}

// Report tells of every signature of an object, in their order.
type Report []Checked

// OpenSet verifies an object that several sign. keys are all that may count; each is counted once, however often it
// appears. A keyid that is the multikey text of a key decides which key is tried; any other is tried against all keys
// not yet found. enough is told the keys with a good signature, in the order of keys, and decides: its error refuses the
// object and is returned with the report. Bad and unknown signatures spoil nothing. Other errors are those of Decode.
func OpenSet[T Body](e Envelope, keys []did.PublicKey, enough func(signed []did.PublicKey) error) (Verified[T], Report, error) {
	body, err := Decode[T](e)
	if err != nil {
		return Verified[T]{}, nil, err
	}
	if len(e.Signatures) > MaxSignatures {
		return Verified[T]{}, nil, &FormError{Path: "signatures", What: "more than 128 signatures"}
	}
	c := newCounter(e, keys)
	report := make(Report, len(e.Signatures))
	for i, s := range e.Signatures {
		report[i] = c.named(s)
	}
	for i := range report {
		if report[i].Verdict == 0 {
			report[i] = c.unnamed(report[i].Signature)
		}
	}
	signed := c.signed()
	if err := enough(signed); err != nil {
		return Verified[T]{}, report, err
	}
	return Verified[T]{ok: true, body: body, id: e.ID(), env: e, signers: signed}, report, nil
}

// counter finds out which keys signed one object.
type counter struct {
	message []byte
	keys    []did.PublicKey // each once
	found   []bool
	byText  map[string]int
}

func newCounter(e Envelope, keys []did.PublicKey) *counter {
	c := &counter{message: e.Preimage().Bytes(), byText: make(map[string]int, len(keys))}
	for _, k := range keys {
		text := k.Multikey()
		if _, twice := c.byText[text]; twice || k.IsZero() {
			continue
		}
		c.byText[text] = len(c.keys)
		c.keys = append(c.keys, k)
	}
	c.found = make([]bool, len(c.keys))
	return c
}

// named judges a signature whose keyid is the text of a key; others keep the zero verdict.
func (c *counter) named(s Signature) Checked {
	at, ok := c.byText[s.KeyID]
	if !ok {
		return Checked{Signature: s}
	}
	k := c.keys[at]
	if k.Verify(c.message, s.Sig) != nil {
		return Checked{s, Bad, k}
	}
	c.found[at] = true
	return Checked{s, Good, k}
}

// unnamed tries the keys that nobody has signed with yet. There is no budget: junk put in front of good signatures
// could use it up and spoil them.
func (c *counter) unnamed(s Signature) Checked {
	for at, k := range c.keys {
		if c.found[at] {
			continue
		}
		if k.Verify(c.message, s.Sig) == nil {
			c.found[at] = true
			return Checked{s, Good, k}
		}
	}
	return Checked{Signature: s, Verdict: Unknown}
}

func (c *counter) signed() []did.PublicKey {
	var out []did.PublicKey
	for at, k := range c.keys {
		if c.found[at] {
			out = append(out, k)
		}
	}
	return out
}
