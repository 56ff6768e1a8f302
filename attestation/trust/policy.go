package trust

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"trustnode/did/envelope"
)

//go:embed policy-v1.json
var policyV1 []byte

// Policy is a checked policy document. Make one with ParsePolicy or V1.
type Policy struct {
	id    envelope.ID
	doc   policyDoc
	codes map[Code]*effect
}

type policyDoc struct {
	Base          int64       `json:"base"`      // milli, where a stranger stands
	BonusCap      int64       `json:"bonus_cap"` // milli, most a bonus pool holds
	Caps          []windowCap `json:"caps"`      // most milli from one organization in one dimension
	Codes         []codeDoc   `json:"codes"`
	Gates         []gate      `json:"gates"`
	LeakPerS      int64       `json:"leak_per_s"` // units a pool loses a second
	UnitsPerMilli int64       `json:"units_per_milli"`
	Weights       weights     `json:"weights"` // basis points
}

type windowCap struct {
	N       int64 `json:"n"`
	WithinS int64 `json:"within_s"`
}

type codeDoc struct {
	Code     string   `json:"code"`
	Kind     string   `json:"kind"` // bonus or fixed: milli; graded: points at severity 100
	Many     []points `json:"many"` // in place of points from ManyFrom acts on
	ManyFrom int64    `json:"many_from"`
	Points   []points `json:"points"`
}

type points struct {
	Dimension string `json:"dimension"`
	N         int64  `json:"n"`
}

type gate struct {
	Days  int64  `json:"days"`
	Ended int64  `json:"ended"`
	Orgs  int64  `json:"orgs"`
	Score int64  `json:"score"`
	Tier  string `json:"tier"`
}

type weights struct {
	Accuracy          int64 `json:"accuracy"`
	Bond              int64 `json:"bond"`
	CostEfficiency    int64 `json:"cost_efficiency"`
	Latency           int64 `json:"latency"`
	Reliability       int64 `json:"reliability"`
	RuntimeCompliance int64 `json:"runtime_compliance"`
	Safety            int64 `json:"safety"`
	ScopeHonesty      int64 `json:"scope_honesty"`
	Security          int64 `json:"security"`
	SelfAudit         int64 `json:"self_audit"`
	Transparency      int64 `json:"transparency"`
	Trustworthiness   int64 `json:"trustworthiness"`
}

// needsEscrow marks the tier that asks for an escrow confirmed in an active pact.
func (g gate) needsEscrow() bool { return g.Days > 0 }

func (w weights) of(d Dimension) int64 {
	switch d {
	case Safety:
		return w.Safety
	case Trustworthiness:
		return w.Trustworthiness
	case Reliability:
		return w.Reliability
	case ScopeHonesty:
		return w.ScopeHonesty
	case Security:
		return w.Security
	case SelfAudit:
		return w.SelfAudit
	case Accuracy:
		return w.Accuracy
	case Bond:
		return w.Bond
	case Transparency:
		return w.Transparency
	case Latency:
		return w.Latency
	case CostEfficiency:
		return w.CostEfficiency
	case RuntimeCompliance:
		return w.RuntimeCompliance
	}
	return 0
}

// effect is what one code does, ready for the fold.
type effect struct {
	kind     string
	points   []share
	many     []share
	manyFrom int64
}

// share is what a code does to one dimension.
type share struct {
	dim int // its place in Dimensions
	n   int64
}

// at gives the points for a number of acts.
func (e effect) at(acts int64) []share {
	if e.manyFrom > 0 && acts >= e.manyFrom {
		return e.many
	}
	return e.points
}

// Kinds of effects.
const (
	kindBonus  = "bonus"
	kindFixed  = "fixed"
	kindGraded = "graded"
)

// ErrPolicy says that a policy document cannot be used; the wrapped text names why.
var ErrPolicy = errors.New("trust policy")

// V1 is the built-in policy.
func V1() (Policy, error) { return ParsePolicy(policyV1) }

// ParsePolicy reads a policy document: canonical JSON, weights that sum to 10,000,
// known dimensions. Its id is the id of the bytes.
func ParsePolicy(b []byte) (Policy, error) {
	p := Policy{id: envelope.IDOf(b), codes: map[Code]*effect{}}
	if err := envelope.Unmarshal(b, &p.doc); err != nil {
		return Policy{}, fmt.Errorf("%w: %v", ErrPolicy, err)
	}
	var sum int64
	for _, d := range Dimensions {
		sum += p.doc.Weights.of(d)
	}
	if sum != 10_000 {
		return Policy{}, fmt.Errorf("%w: weights sum to %d, not 10000", ErrPolicy, sum)
	}
	if p.doc.LeakPerS <= 0 || p.doc.UnitsPerMilli <= 0 || p.doc.Base > 100_000 {
		return Policy{}, fmt.Errorf("%w: leak, units and base must be in range", ErrPolicy)
	}
	for _, c := range p.doc.Codes {
		e, err := c.effect()
		if err != nil {
			return Policy{}, err
		}
		p.codes[Code(c.Code)] = &e
	}
	return p, nil
}

// ID is what a charter's trust_policy names.
func (p Policy) ID() envelope.ID { return p.id }

func (c codeDoc) effect() (effect, error) {
	if c.Kind != kindBonus && c.Kind != kindFixed && c.Kind != kindGraded {
		return effect{}, fmt.Errorf("%w: code %s has kind %q", ErrPolicy, c.Code, c.Kind)
	}
	pts, err := byDimension(c.Points)
	if err != nil {
		return effect{}, err
	}
	many, err := byDimension(c.Many)
	if err != nil {
		return effect{}, err
	}
	return effect{kind: c.Kind, points: pts, many: many, manyFrom: c.ManyFrom}, nil
}

func byDimension(ps []points) ([]share, error) {
	var out []share
	for _, p := range ps {
		dim := slices.Index(Dimensions, Dimension(p.Dimension))
		if dim < 0 {
			return nil, fmt.Errorf("%w: unknown dimension %q", ErrPolicy, p.Dimension)
		}
		out = slices.DeleteFunc(out, func(s share) bool { return s.dim == dim }) // the last of one dimension counts
		out = append(out, share{dim, p.N})
	}
	return out, nil
}
