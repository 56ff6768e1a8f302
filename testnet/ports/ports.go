// Package ports answers: which TCP ports of loopback may the nodes of this test have?
//
// The nodes of a test name their addresses before they listen, since bindings carry them,
// and test programs run side by side: a port that is merely free now may be taken by
// another program before its node starts. So a port is claimed, for as long as the
// process lives, by a UDP socket of the same number, and only who holds the claim uses it.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are given below those that systems choose for outgoing connections, so that a
// node which starts again finds its port free.
const first, last = 12000, 30000

// claims keeps the sockets that hold ports: one the collector closes would end its claim.
var claims struct {
	sync.Mutex
	held []net.PacketConn
}

// Claim takes n TCP ports of 127.0.0.1 on which nothing listens, for the life of this
// process: no other caller of Claim on this machine gets them. Nodes given such a port may
// listen with TCP alone. It is safe for concurrent use.
func Claim(n int) ([]int, error) {
	var out []int
	for tries := 0; len(out) < n; tries++ {
		port := first + rand.IntN(last-first)
		err := claim(port)
		if err == nil {
			out = append(out, port)
		} else if tries > 100*n {
			return nil, fmt.Errorf("no free port: %w", err)
		}
	}
	return out, nil
}

func claim(port int) error {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		c.Close()
		return err
	}
	l.Close()
	claims.Lock()
	defer claims.Unlock()
	claims.held = append(claims.held, c)
	return nil
}
