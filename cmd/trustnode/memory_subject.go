package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// names are the values of a flag that may be repeated and whose values may hold commas, at
// which the library's own kind of list splits: "Doe, Jane" is one person.
type names []string

// Set implements cli.Generic.
func (n *names) Set(text string) error {
	*n = append(*n, text)
	return nil
}

func (n *names) String() string { return strings.Join(*n, "; ") }

func subjectFlag(usage string) cli.Flag {
	return &cli.GenericFlag{Name: "subject", Usage: usage, Value: &names{}}
}

func subjects(c *cli.Context) []string {
	n, _ := c.Generic("subject").(*names)
	if n == nil {
		return nil
	}
	return *n
}
