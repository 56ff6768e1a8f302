package lending

import (
	"errors"
	"testing"
)

func TestParseEnd(t *testing.T) {
	at := clock("2026-12-02T09:15:30Z")
	for text, want := range map[string]string{
		"720h": "2027-01-01T09:15:30Z", "30d": "2027-01-01T09:15:30Z", "2w": "2026-12-16T09:15:30Z", "90m": "2026-12-02T10:45:30Z",
		"2026-12-31T00:00:00Z": "2026-12-31T00:00:00Z", "2026-12-31T00:00:00+01:00": "2026-12-30T23:00:00Z",
		"": "", "-1h": "", "0h": "", "soon": "", "100000d": "", "1y": "",
	} {
		got, err := ParseEnd(text, at)
		if want == "" {
			if !errors.Is(err, ErrEnd) {
				t.Errorf("%q: got %s, %v, want ErrEnd", text, got, err)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
}
