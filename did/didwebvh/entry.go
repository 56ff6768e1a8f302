package didwebvh

import (
	"bytes"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// entry is one log line, read but not yet verified.
type entry struct {
	line       []byte
	number     int
	id, hash   string // "2-Qm…", "Qm…"
	time       time.Time
	timeText   string
	parameters strictjson.Value
	state      strictjson.Value
	proofs     []proof

	canonicalParameters, canonicalState []byte

	document did.Document    // set by readLine
	signers  []did.PublicKey // the keys of the proofs, once they may update: set by authorize
}

// splitLog cuts a log into its lines. The last one may lack its newline.
func splitLog(log []byte) ([][]byte, error) {
	if len(log) > maxLog {
		return nil, refuse(ReasonTooLarge, "log of %d bytes, at most %d", len(log), maxLog)
	}
	log = bytes.TrimSuffix(log, []byte("\n"))
	if len(log) == 0 {
		return nil, nil
	}
	if n := bytes.Count(log, []byte("\n")) + 1; n > maxEntries {
		return nil, refuse(ReasonTooLarge, "log of %d entries, at most %d", n, maxEntries)
	}
	return bytes.Split(log, []byte("\n")), nil
}

// parseLine reads the form of one log entry: did:webvh 1.0, "The DID Log File".
func parseLine(line []byte) (entry, error) {
	if len(line) > maxLine {
		return entry{}, refuse(ReasonTooLarge, "line of %d bytes, at most %d", len(line), maxLine)
	}
	if len(line) == 0 || line[0] != '{' || line[len(line)-1] != '}' {
		return entry{}, refuse(ReasonForm, "the line is no JSON object")
	}
	v, err := strictjson.Parse(line, maxDepth)
	if err != nil {
		return entry{}, caused(ReasonForm, "the line is not JSON", err)
	}
	e := entry{line: line}
	if err := e.members(v); err != nil {
		return entry{}, err
	}
	if e.canonicalParameters, err = e.parameters.Canonical(); err != nil {
		return entry{}, caused(ReasonForm, "parameters", err)
	}
	if e.canonicalState, err = e.state.Canonical(); err != nil {
		return entry{}, caused(ReasonForm, "state", err)
	}
	return e, nil
}

// readLine is parseLine, and reads the state as a document. What was signed is
// the canonical form, so that is what is read.
func readLine(line []byte) (entry, error) {
	e, err := parseLine(line)
	if err != nil {
		return entry{}, err
	}
	name, _ := e.state.Get("id")
	s, _ := name.Text()
	id, err := did.Parse(s)
	if err != nil {
		return entry{}, caused(ReasonDocument, "id of the state", err)
	}
	if e.document, err = did.ParseDocument(e.canonicalState, id); err != nil {
		return entry{}, caused(ReasonDocument, "state", err)
	}
	return e, nil
}

func (e *entry) members(v strictjson.Value) error {
	const want = 5
	if len(v.Members()) != want {
		return refuse(ReasonForm, "the line has %d members, not %d", len(v.Members()), want)
	}
	for _, m := range v.Members() {
		if err := e.member(m.Name, m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) member(name string, v strictjson.Value) (err error) {
	switch name {
	case "versionId":
		s, _ := v.Text()
		e.number, e.hash, err = parseVersionID(s)
		e.id = s
	case "versionTime":
		e.timeText, _ = v.Text()
		if e.time, err = parseTime(e.timeText); err != nil {
			return caused(ReasonTime, "versionTime", err)
		}
	case "parameters":
		e.parameters = v
	case "state":
		e.state = v
		if v.Kind() != strictjson.Object {
			return refuse(ReasonDocument, "state is not an object")
		}
	case "proof":
		err = e.readProofs(v)
	default:
		err = refuse(ReasonForm, "the line has a member %q", name)
	}
	return err
}

func (e *entry) readProofs(v strictjson.Value) error {
	elements := v.Elements()
	if len(elements) == 0 {
		return refuse(ReasonProof, "proof is not a list of proofs")
	}
	if len(elements) > maxProofs {
		return refuse(ReasonTooLarge, "%d proofs, at most %d", len(elements), maxProofs)
	}
	for _, el := range elements {
		p, err := parseProof(el)
		if err != nil {
			return caused(ReasonProof, "proof", err)
		}
		e.proofs = append(e.proofs, p)
	}
	return nil
}

// parseVersionID splits "2-Qm…" into its number, from 1, and its hash.
func parseVersionID(s string) (int, string, error) {
	digits, hash, _ := strings.Cut(s, "-")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || strconv.Itoa(n) != digits || !isHash(hash) {
		return 0, "", refuse(ReasonHash, "versionId is not a number and a sha2-256 multihash")
	}
	if n > maxEntries {
		return 0, "", refuse(ReasonTooLarge, "entry %d, at most %d", n, maxEntries)
	}
	return n, hash, nil
}

// sum is the hash of the entry without its proofs and with versionId in place of its own.
// The members' names are fixed, so only the parts that vary were canonicalized.
func (e entry) sum(versionID string) [32]byte {
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(`{"parameters":`), e.canonicalParameters, []byte(`,"state":`), e.canonicalState,
		[]byte(`,"versionId":"` + versionID + `","versionTime":"` + e.timeText + `"}`),
	} {
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}

// placeholder stands where the SCID will be, when the first entry is hashed to make it.
const placeholder = "{SCID}"

// checkSCID verifies that scid is the hash of this first entry: did:webvh 1.0, "Verify SCID".
func (e entry) checkSCID(scid string) error {
	if bytes.Contains(e.canonicalParameters, []byte(placeholder)) || bytes.Contains(e.canonicalState, []byte(placeholder)) {
		// With it, two different first entries would have one SCID.
		return refuse(ReasonHash, "the entry holds the literal %s", placeholder)
	}
	blank := entry{timeText: e.timeText}
	var err error
	if blank.canonicalParameters, err = replaced(e.parameters, scid, placeholder).Canonical(); err != nil {
		return caused(ReasonForm, "parameters", err)
	}
	if blank.canonicalState, err = replaced(e.state, scid, placeholder).Canonical(); err != nil {
		return caused(ReasonForm, "state", err)
	}
	if got := hashText(blank.sum(placeholder)); got != scid {
		return refuse(ReasonHash, "scid is %s, the entry hashes to %s", scid, got)
	}
	return nil
}

// replaced is v with every old, in names too, written as next.
func replaced(v strictjson.Value, old, next string) strictjson.Value {
	f := func(s string) string { return strings.ReplaceAll(s, old, next) }
	return rewritten(v, f, f)
}

// rewritten is v with every string put through text and every name of a member through name.
func rewritten(v strictjson.Value, text, name func(string) string) strictjson.Value {
	switch v.Kind() {
	case strictjson.String:
		s, _ := v.Text()
		return strictjson.StringOf(text(s))
	case strictjson.Array:
		items := make([]strictjson.Value, len(v.Elements()))
		for i, e := range v.Elements() {
			items[i] = rewritten(e, text, name)
		}
		return strictjson.ArrayOf(items...)
	case strictjson.Object:
		members := make([]strictjson.Member, len(v.Members()))
		for i, m := range v.Members() {
			members[i] = member(name(m.Name), rewritten(m.Value, text, name))
		}
		return strictjson.ObjectOf(members...)
	}
	return v
}

// VersionID is the versionId of a log line, unverified; "" if the line is none.
func VersionID(line []byte) string {
	e, err := parseLine(line)
	if err != nil {
		return ""
	}
	return e.id
}
