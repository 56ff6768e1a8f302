package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// slow is a reader who takes nothing until it is let go.
type slow struct {
	*httptest.ResponseRecorder
	writes chan<- bool
	until  <-chan bool
}

func (s slow) Write(b []byte) (int, error) {
	s.writes <- true
	<-s.until
	return s.ResponseRecorder.Write(b)
}

func (s slow) SetWriteDeadline(time.Time) error { return nil }

// TestCallsOfStrangersAreBounded: while as many as may are under way, another is refused, of tiles too, and the operator
// is not; one that ends makes room.
func TestCallsOfStrangersAreBounded(t *testing.T) {
	d := openWith(t, func(c *config.Config) { c.PublicEvents = true }).withAgents("one")
	const events, tile = "/api/v1/events", "/api/v1/log/self/tile/0/000.p/1"
	writes, until, ended := make(chan bool), make(chan bool), make(chan bool)
	for i := range httpapi.MaxPublicCalls {
		path := events
		if i%2 == 1 {
			path = tile
		}
		go func() {
			d.h.ServeHTTP(slow{httptest.NewRecorder(), writes, until}, httptest.NewRequest(http.MethodGet, path, nil))
			ended <- true
		}()
	}
	for range httpapi.MaxPublicCalls {
		<-writes
	}
	for _, path := range []string{events, events + "/0", events + "/0/proof", events + "/0/c2sp", "/api/v1/log/self/head", tile} {
		if w := d.ask("GET", path, nil); w.Code != 429 || refusal(w).Code != fault.RateLimited || refusal(w).Hint == "" {
			t.Errorf("%s, one more: %d %.200s", path, w.Code, w.Body)
		}
		if w := d.operator("GET", path, nil); w.Code != 200 {
			t.Errorf("%s, by the operator: %d %.200s", path, w.Code, w.Body)
		}
	}
	close(until)
	for range httpapi.MaxPublicCalls {
		<-ended
	}
	for _, path := range []string{events, tile} {
		if w := d.ask("GET", path, nil); w.Code != 200 {
			t.Errorf("%s, when all have ended: %d %.200s", path, w.Code, w.Body)
		}
	}
}
