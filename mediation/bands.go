package mediation

import "fmt"

// Band is the range of severity, in whole points, that proven facts allow.
type Band struct{ Lo, Hi uint64 }

// band is section 8's table: by code and proven acts.
func band(code string, acts uint64) (Band, error) {
	switch code {
	case "R1":
		switch {
		case acts <= 1:
			return Band{0, 30}, nil
		case acts <= 4:
			return Band{10, 50}, nil
		case acts <= 19:
			return Band{30, 80}, nil
		}
		return Band{60, 100}, nil
	case "S1":
		return Band{0, 40}, nil
	case "S2":
		return Band{40, 100}, nil
	case "P1", "C1":
		return Band{20, 100}, nil
	case "T1":
		return Band{20, 80}, nil
	case "T2":
		return Band{30, 100}, nil
	case "L1":
		if acts <= 1 {
			return Band{30, 70}, nil
		}
		return Band{60, 100}, nil
	case "L2":
		return Band{30, 80}, nil
	case "L3", "A1":
		return Band{0, 60}, nil
	}
	return Band{}, fmt.Errorf("code %.10q is not one of a claim", code)
}

// BandOf returns the band of a code for a number of proven acts.
func BandOf(code string, acts uint64) (Band, error) { return band(code, acts) }

// inside says whether a severity in thousandths of a point lies in the band.
func (b Band) inside(milli uint64) bool { return milli >= b.Lo*1000 && milli <= b.Hi*1000 }

// meanings say in words what a code alleges.
var meanings = map[string]string{
	"R1": "read after the end of the loan", "S1": "asked outside the scope", "S2": "probed for what is outside the scope",
	"P1": "misstated the purpose", "T1": "kept what should be gone", "T2": "lent on without leave", "C1": "copied or cached",
	"L1": "served a read after its own revocation", "L2": "a row is missing or the log forked", "L3": "suspended without cause", "A1": "filed without cause",
}

// Meaning says in words what a code alleges, or "".
func Meaning(code string) string { return meanings[code] }
