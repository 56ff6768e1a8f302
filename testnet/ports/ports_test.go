package ports

import (
	"net"
	"strconv"
	"sync"
	"testing"
)

func TestNoPortIsGivenTwice(t *testing.T) {
	var mu sync.Mutex
	seen := map[int]bool{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			list, err := Claim(20)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, p := range list {
				if seen[p] {
					t.Errorf("port %d is given twice", p)
				}
				seen[p] = true
			}
		})
	}
	wg.Wait()
	if len(seen) != 400 {
		t.Errorf("%d ports, want 400", len(seen))
	}
}

func TestAClaimedPortIsFreeForItsNodeAlone(t *testing.T) {
	list, err := Claim(1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(list[0])))
	if err != nil {
		t.Fatalf("its node: %v", err)
	}
	l.Close()
	if err := claim(list[0]); err == nil {
		t.Errorf("port %d is claimed twice", list[0])
	}
}
