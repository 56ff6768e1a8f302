package guard_test

import (
	"fmt"
	"os"

	"trustnode/node/guard"
)

// A program guards itself before it reads any secret. The example does not run: it would guard the tests.
func Example() {
	note, err := guard.Process()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if note != "" {
		fmt.Fprintln(os.Stderr, note)
	}
}
