package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// permute moves flags before arguments, level by level, so that they work on both
// sides of them: the cli library takes everything after the first argument for an
// argument. "--" ends flags. The name of an unknown command or flag is a usage error.
func permute(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	out, rest := []string{args[0]}, args[1:]
	common := commonFlags() // these may stand before a verb as well
	commands, flags := app.Commands, common
	for {
		i := nextWord(rest, flags)
		if i < 0 || len(commands) == 0 {
			break
		}
		cmd := find(commands, rest[i])
		if cmd == nil {
			if rest[i] == "help" {
				return append(out, rest...), nil
			}
			return nil, &usageError{fmt.Sprintf("unknown command %q", strings.Join(append(out[1:], rest[i]), " ")), "trustnode --help lists the commands"}
		}
		// Flags that stood before the command's name belong to it as well: `trustnode --json status`.
		out = append(out, rest[i])
		rest = append(append([]string{}, rest[:i]...), rest[i+1:]...)
		commands, flags = cmd.Subcommands, cmd.Flags
		if len(commands) > 0 {
			flags = common
		}
	}
	before, after, err := split(rest, flags)
	if err != nil {
		return nil, err
	}
	if len(after) > 0 {
		before = append(append(before, "--"), after...)
	}
	return append(out, before...), nil
}

// nextWord is the index of the first word that is neither a flag nor a flag's value, or -1.
func nextWord(args []string, flags []cli.Flag) int {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return -1
		case !isFlag(a):
			return i
		case takesValue(a, flags):
			i++
		}
	}
	return -1
}

func split(args []string, flags []cli.Flag) (before, after []string, err error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return before, append(after, args[i+1:]...), nil
		case !isFlag(a):
			after = append(after, a)
			continue
		}
		before = append(before, a)
		if !takesValue(a, flags) {
			continue
		}
		if i++; i == len(args) {
			return nil, nil, &usageError{fmt.Sprintf("flag %s needs a value", a), "the verb's --help lists its flags"}
		}
		before = append(before, args[i])
	}
	return before, after, nil
}

// isFlag: a dash and more. A lone dash is standard input; scopes such as "-tag:x" are quoted
// with a term before them, and a text that starts with a dash follows "--".
func isFlag(a string) bool { return len(a) > 1 && a[0] == '-' }

func takesValue(arg string, flags []cli.Flag) bool {
	name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if inline {
		return false
	}
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				_, isBool := f.(*cli.BoolFlag)
				return !isBool
			}
		}
	}
	return false
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}
