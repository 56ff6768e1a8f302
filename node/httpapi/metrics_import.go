package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"trustnode/node/memory"
)

// newImportLines counts what imports made of lines and items, dry runs aside.
func newImportLines() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "trustnode", Name: "import_lines_total", Help: "statements of imported files, by what became of them"}, []string{"result"})
	for _, result := range []string{"imported", "known", "rejected", "left_out"} {
		c.WithLabelValues(result) // there from the start, as 0
	}
	return c
}

func (s *server) countImport(r memory.Report) {
	for result, n := range map[string]int{"imported": r.Imported, "known": r.Repeated, "rejected": sum(r.Reasons), "left_out": sum(r.Left)} {
		s.imports.WithLabelValues(result).Add(float64(n))
	}
}

func sum(of map[string]int) (n int) {
	for _, k := range of {
		n += k
	}
	return n
}
