package daemon

import (
	"context"
	"net/http"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/httpapi"
)

// TestWhatIsNotJudgedIsNotSaidToBeAbsent: a list of what counts claims absence up to where a
// log is judged, one of what is logged up to where it is held.
func TestWhatIsNotJudgedIsNotSaidToBeAbsent(t *testing.T) {
	s := newSeat(t, "solo")
	s.start()
	defer s.node.self.Rec.Hold()() // nothing is judged meanwhile
	other := did.MustParse("did:web:other.example")
	entry := append(append(attestation.Entry{1}, make([]byte, 64)...), "no event"...)
	if err := s.node.events.Append(context.Background(), attestation.Batch{Org: other, Entries: []attestation.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]uint64{"": 0, "&level=authored": 0, "&level=logged&standing=pending": 1, "&any=true": 1} {
		var got httpapi.Events
		s.must(http.MethodGet, "/api/v1/events?org="+other.String()+query, nil, &got)
		if len(got.Origins) != 1 || got.Origins[0].Held != want || got.Origins[0].Known != 1 || uint64(len(got.Events)) != want {
			t.Errorf("%q: %d events, origins %+v, want held %d", query, len(got.Events), got.Origins, want)
		}
	}
}
