package attestation

// Level says how far an event was checked. It never falls.
type Level uint8

// The levels, append-only.
const (
	Logged   Level = iota + 1 // under a head whose signature and root are checked
	Authored                  // its one signature passed under the key of its position
)

// String returns the level's word.
func (l Level) String() string { return word(int(l), "logged", "authored") }

// Standing says whether an event counts, beside its level. Only what is
// authored and valid decides anything.
type Standing uint8

// The standings, append-only.
const (
	Valid     Standing = iota + 1
	Pending            // its key or a rotation is not known here
	Disputed           // signed in the time a compromise taints
	Contested          // above the point where two branches part
	Void               // never counts
)

// String returns the standing's word.
func (s Standing) String() string {
	return word(int(s), "valid", "pending", "disputed", "contested", "void")
}

func word(n int, words ...string) string {
	if n < 1 || n > len(words) {
		return "invalid"
	}
	return words[n-1]
}

// Reason says why a standing is not Valid.
type Reason string

// The reasons, append-only.
const (
	ReasonForm      Reason = "form"      // not the form of an event, or of its type
	ReasonSignature Reason = "signature" // false under the key of its position
	ReasonKey       Reason = "key"       // a key not yet or no longer in force at its index
	ReasonOrg       Reason = "org"       // another organization's name in the body
	ReasonRepeat    Reason = "repeat"    // its id stands at a lower index
	ReasonUnknown   Reason = "unknown"   // its key is in no version known here
	ReasonRotation  Reason = "rotation"  // the version a rotation at or below it names is not known here
	ReasonRemoved   Reason = "removed"   // its key left the document, and the log has not said so yet
	ReasonTaint     Reason = "taint"     // in the range a compromise taints
	ReasonFork      Reason = "fork"      // at or above the last size that two branches are known to share
	ReasonCutoff    Reason = "cutoff"    // at or past the size at which a charter ended the log, or on another branch
	ReasonGap       Reason = "gap"       // in a run of indexes that a charter excludes
)

// Verdict is what is known about one event of a log.
type Verdict struct {
	Level    Level
	Standing Standing
	Reason   Reason // "" when Valid
}

// Counts reports whether the event may decide anything.
func (v Verdict) Counts() bool { return v.Level == Authored && v.Standing == Valid }
