package trust

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureFold folds a month of 12,000 signals a day about one subject; its floor
// sorts the same moments and adds them. The whole answer beside it has the root over the
// ids of all events too.
func BenchmarkFigureFold(b *testing.B) {
	all := make([]Signal, 360_000)
	at := make([]int64, len(all))
	r := rand.New(rand.NewPCG(1, 1))
	for i := range all {
		id := envelope.IDOf([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		all[i] = Signal{ID: id, At: 1_790_000_000 + r.Int64N(2_600_000), Subject: planner, Org: line, Other: harbor, Code: "honored"}
		at[i] = all[i].At
	}
	p, now := v1(b), time.Unix(1_793_000_000, 0)
	sum := int64(0)
	fold := func() error {
		newFolder(p, all, world, View{}, now.Unix()).dimensions(planner, line)
		return nil
	}
	score := func() error {
		Score(p, all, world, planner, View{}, now)
		return nil
	}
	floor := func() error {
		mine := slices.Clone(at)
		slices.Sort(mine)
		for _, v := range mine {
			sum += v
		}
		return nil
	}
	got, bare := benchtest.Work(b, 15, fold, floor)
	benchtest.Latency(b, "trust: fold of 360,000 signals", got, bare, "sort + add", benchtest.Target{Ratio: 4, P50: 60 * time.Millisecond})
	whole, part := benchtest.Work(b, 5, score, fold)
	benchtest.Latency(b, "trust: answer over 360,000 signals", whole, part, "that fold", benchtest.Target{Ratio: 1.5})
	if sum == 0 {
		b.Fatal("nothing was added")
	}
}
