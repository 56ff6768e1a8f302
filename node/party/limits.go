package party

import "time"

const (
	// askFor is how long all members together are asked for what a verb lacks.
	askFor = 5 * time.Second
	// waitFor is how long a verb waits for a cosignature by somebody outside both
	// parties, so that the next verb on another node finds what it wrote.
	waitFor = 3 * time.Second
	// hearEvery is how often the members are asked about an agent nobody has seen yet.
	hearEvery = 500 * time.Millisecond
	// maxActs caps the acts that one filing attaches: two items each, under the caps of a
	// manifest; the bands end at 20.
	maxActs = 1_000
	// maxWants caps the ids that are asked for at once.
	maxWants = 512
	// maxLooks caps the cases of one filer that one list of missing things looks at.
	maxLooks = 256
	// maxRemembered caps what is remembered of missing things, in cases and in ids.
	maxRemembered = 10_000
	// maxObject caps a signed object read from the library.
	maxObject = 64 << 10
	// clockLead is how far a witness's clock may be ahead of this one.
	clockLead = 300 * time.Second
	// dealingsWindow and dealingsShare leave a mediator out whose share of a party's
	// loans closed in the window is above that many percent.
	dealingsWindow = 90 * 24 * time.Hour
	dealingsShare  = 20
	// priorWindow is how far back violations count as prior ones.
	priorWindow = 7_862_400 * time.Second
)
