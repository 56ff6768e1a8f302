package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func doctorCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "doctor", Usage: "look at this node for what should be known or done; exit 1 if something fails", Action: func(c *cli.Context) error {
		return with(c, func(ctx context.Context, k *caller) error {
			var d httpapi.Doctor
			if err := k.call(ctx, "GET", "/api/v1/doctor", nil, &d); err != nil {
				return err
			}
			failed := 0
			for _, x := range d.Checks {
				if x.Level == httpapi.LevelFail {
					failed++
				}
			}
			if err := s.result(d, func(w writer) { printChecks(w, d) }); err != nil || failed == 0 {
				return err
			}
			return &failedError{exitFailed, fmt.Sprintf("%d of %d checks failed", failed, len(d.Checks)), ""}
		})
	}}
}

func printChecks(w writer, d httpapi.Doctor) {
	for _, x := range d.Checks {
		fmt.Fprintf(w, "%-5s %s\n", x.Level, x.What)
		if x.Hint != "" {
			fmt.Fprintf(w, "      hint: %s\n", x.Hint)
		}
	}
}
