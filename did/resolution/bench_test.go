package resolution_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureStored asks for a stored document over one kept connection; its floor is a handler that answers the same
// bytes without looking at what is asked.
func BenchmarkFigureStored(b *testing.B) {
	r := held(b, example, document)
	r.Evidence = []did.Evidence{{Step: "key", Version: "2-QmB"}, {Step: "head", Version: "2-QmB"}, {Step: "pin", Line: 17}}
	s := service(stored(r))
	constant := s.Get(b.Context(), example, "", "")
	floor := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", constant.ContentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(constant.Body)))
		w.Write(constant.Body)
	})
	ask := func(h http.Handler) func() error {
		server := httptest.NewServer(h)
		b.Cleanup(server.Close)
		client := server.Client()
		return func() error {
			res, err := client.Get(server.URL + resolution.Endpoint + example)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if n, err := io.Copy(io.Discard, res.Body); err != nil || n != int64(len(constant.Body)) {
				return errors.Join(err, errors.New("another answer"))
			}
			return nil
		}
	}
	got, bare := benchtest.Turns(b, 400, 10, ask(resolution.Handler(s)), ask(floor))
	perSecond := func(d time.Duration) float64 { return float64(time.Second) / float64(d) }
	benchtest.Rate(b, "did: /1.0/identifiers/{did}, stored", perSecond(got.P50), perSecond(bare.P50), "constant bytes", benchtest.Target{Share: 0.5})
}

// BenchmarkGet is the same without net/http.
func BenchmarkGet(b *testing.B) {
	s := service(stored(held(b, example, document)))
	b.ReportAllocs()
	for b.Loop() {
		if a := s.Get(b.Context(), example, "", "*/*"); a.Status != http.StatusOK {
			b.Fatal(a.Err)
		}
	}
}
