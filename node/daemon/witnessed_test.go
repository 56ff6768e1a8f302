package daemon

import (
	"net/http"
	"testing"

	"trustnode/node/httpapi"
)

// TestAnEventSaysWhoSawIt: members cosign what another says, and an event tells of how many
// the charter asks for, by whom and when; where the others are away, who is missing.
func TestAnEventSaysWhoSawIt(t *testing.T) {
	x := newTrio(t)
	find := func(s *seat, org string) httpapi.EventDetail {
		var l httpapi.Events
		s.must(http.MethodGet, "/api/v1/events?type=agent.issued&org="+org, nil, &l)
		if len(l.Events) == 0 {
			return httpapi.EventDetail{}
		}
		var e httpapi.EventDetail
		s.must(http.MethodGet, "/api/v1/events/"+l.Events[len(l.Events)-1].ID, nil, &e)
		return e
	}
	acme := x.acme.cfg.Org.String()
	for _, s := range []*seat{x.acme, x.vendor} {
		soon(t, "a quorum has seen acme's agent", func() bool {
			e := find(s, acme)
			if e.ID == "" || e.Witnessed.Have == 0 {
				return false
			}
			if w := e.Witnessed; w.Need != 1 || w.Have != len(w.By) || w.By[0].Org == acme || w.By[0].At == "" || len(e.Missing) != 0 {
				t.Fatalf("%+v", e)
			}
			return true
		})
	}
	var l httpapi.Events
	x.vendor.must(http.MethodGet, "/api/v1/events?type=agent.&org="+acme, nil, &l)
	if len(l.Origins) != 1 || l.Origins[0].Org != acme || l.Origins[0].AgeS == nil || l.Origins[0].Held == 0 {
		t.Errorf("origins %+v", l.Origins)
	}
	x.vendor.must(http.MethodGet, "/api/v1/events", nil, &l)
	if len(l.Origins) != 3 {
		t.Errorf("origins of all logs: %+v", l.Origins)
	}
	x.vendor.stop()
	x.arbiter.stop()
	x.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "late", Can: []string{"lend"}}, nil)
	soon(t, "the event counts, and nobody has seen it", func() bool {
		e := find(x.acme, acme)
		return e.Says().Type == "agent.issued" && e.Witnessed.Have == 0 && e.Witnessed.Need == 1 && len(e.Missing) == 2 && e.Missing[0].SilentS != nil
	})
	x.acme.stop()
	x.acme.cfg.PublicEvents = true
	x.acme.start()
	known := find(x.acme, acme)
	var told httpapi.EventDetail
	stranger := &httpapi.Client{Base: x.acme.api.Base, HTTP: http.DefaultClient}
	if err := stranger.Call(t.Context(), http.MethodGet, "/api/v1/events/"+known.ID, nil, &told); err != nil || told.ID != known.ID || told.Witnessed.Need != 1 || len(known.Missing) != 2 || told.Missing != nil {
		t.Errorf("to anyone %+v (%v), to the operator %+v", told, err, known)
	}
}
