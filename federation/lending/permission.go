package lending

import (
	"net/url"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
)

// PermissionType labels a permission.
var PermissionType = envelope.TypeOf("permission")

// Patterns of use. A read-only permission has PatternRead alone.
const (
	PatternDiscover        = "discover"
	PatternDownstreamWrite = "downstream_write"
	PatternRead            = "read"
)

// Values of the optional members provenance and sublend.
const (
	ProvenanceAllow = "allow"
	SublendAsk      = "ask"
)

// Permission is the signed loan (body of PermissionType, at most MaxPermission
// bytes): the lender's agent or human lets Borrower, and nobody else, query its
// live memory. Optional members are absent when they have no value; a default is
// never written.
type Permission struct {
	Borrower         did.DID       `json:"borrower"`
	CacheS           uint64        `json:"cache_s,omitempty"`  // caching window in seconds, 1..86400
	CostCap          *Money        `json:"cost_cap,omitempty"` // most that may be billed; needs Terms
	ExpiresAt        envelope.Time `json:"expires_at"`         // the first second at which it is expired
	GoverningCharter *CharterPin   `json:"governing_charter,omitempty"`
	IssuedAt         envelope.Time `json:"issued_at"` // proves nothing
	Kid              string        `json:"kid"`
	Lender           did.DID       `json:"lender"`
	MaxReads         uint64        `json:"max_reads"` // granted answers, from 1
	Nonce            Nonce         `json:"nonce"`
	NotBefore        envelope.Time `json:"not_before,omitempty"`
	Pact             envelope.ID   `json:"pact,omitempty"`
	Parent           envelope.ID   `json:"parent,omitempty"` // permission this one is a part of
	Patterns         []string      `json:"patterns"`         // sorted, distinct, of the three patterns
	Provenance       string        `json:"provenance,omitempty"`
	Purpose          string        `json:"purpose"`    // 1..200 bytes, as granted
	Revocation       string        `json:"revocation"` // where to check
	Scope            Scope         `json:"scope"`
	Sublend          string        `json:"sublend,omitempty"`
	Terms            envelope.ID   `json:"terms,omitempty"`
	WriteTo          []string      `json:"write_to,omitempty"` // 1..4 destinations
}

// CharterPin names the version of a federation's charter that fixes mediator
// and deadlines. Required between organizations.
type CharterPin struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"` // 0 for a genesis
}

// Money is an amount in whole smallest units of an asset.
type Money struct {
	Amount string `json:"amount"`
	Asset  string `json:"asset"`
	Chain  string `json:"chain,omitempty"` // CAIP-2 id; absent for an asset of a ledger
}

// Payload returns PermissionType.
func (Permission) Payload() envelope.Type { return PermissionType }

// Signer returns the lender and its key.
func (p Permission) Signer() (did.DID, string) { return p.Lender, p.Kid }

// MaxBytes returns MaxPermission.
func (Permission) MaxBytes() int { return MaxPermission }

// Check holds the body to its form.
func (p Permission) Check() error {
	return first(
		bytesIn("kid", p.Kid, 1, maxKid),
		bytesIn("purpose", p.Purpose, 1, MaxPurpose),
		when(p.MaxReads == 0, "max_reads", "no reads are granted"),
		checkPatterns(p.Patterns),
		when(!p.ExpiresAt.Time().After(p.IssuedAt.Time()), "expires_at", "not after issued_at"),
		when(!p.NotBefore.IsZero() && !p.NotBefore.Time().Before(p.ExpiresAt.Time()), "not_before", "not before expires_at"),
		when(p.CacheS > MaxCacheS, "cache_s", "%d seconds, at most %d", p.CacheS, MaxCacheS),
		checkRevocationURL(p.Revocation),
		optional("provenance", p.Provenance, ProvenanceAllow),
		optional("sublend", p.Sublend, SublendAsk),
		p.checkCost(),
		p.checkWriteTo(),
	)
}

// Allows reports whether the permission covers a pattern of use.
func (p Permission) Allows(pattern string) bool { return slices.Contains(p.Patterns, pattern) }

func optional(path, got, only string) error {
	return when(got != "" && got != only, path, "%.64q is not %q", got, only)
}

func checkPatterns(patterns []string) error {
	if err := first(when(len(patterns) == 0, "patterns", "empty"), sortedSet("patterns", patterns)); err != nil {
		return err
	}
	for _, p := range patterns {
		if err := oneOf("patterns", p, PatternDiscover, PatternDownstreamWrite, PatternRead); err != nil {
			return err
		}
	}
	return nil
}

// checkRevocationURL takes an https base, or a DID URL with fragment "lending".
func checkRevocationURL(text string) error {
	if err := bytesIn("revocation", text, 1, maxRevocation); err != nil {
		return err
	}
	if u, err := did.ParseURL(text); err == nil {
		return when(u.Fragment() != "lending" || u.String() != u.DID().String()+"#lending", "revocation", "a DID URL other than one with #lending")
	}
	u, err := url.Parse(text)
	bad := err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != ""
	return when(bad || u.String() != text || text[len(text)-1] == '/', "revocation", "neither an https base nor a DID URL with #lending")
}

func (p Permission) checkCost() error {
	if p.CostCap == nil {
		return nil
	}
	return first(when(p.Terms.IsZero(), "cost_cap", "without terms"), p.CostCap.check("cost_cap"))
}

func (m Money) check(path string) error {
	return first(
		digits(path+".amount", m.Amount),
		bytesIn(path+".asset", m.Asset, 1, maxAsset),
		bytesIn(path+".chain", m.Chain, 0, maxChain),
	)
}

func (p Permission) checkWriteTo() error {
	if len(p.WriteTo) == 0 {
		return nil
	}
	for _, to := range p.WriteTo {
		if err := bytesIn("write_to", to, 1, maxTo); err != nil {
			return err
		}
	}
	return first(
		when(len(p.WriteTo) > maxWriteTo, "write_to", "%d destinations, at most %d", len(p.WriteTo), maxWriteTo),
		sortedSet("write_to", p.WriteTo),
		when(!p.Allows(PatternDownstreamWrite), "write_to", "without pattern downstream_write"),
	)
}
