package lending

import (
	"fmt"
	"slices"
	"strings"

	"trustnode/did/envelope"
)

// form is the refusal of a body's form: which member, and what about it.
func form(path, what string, args ...any) error {
	return &envelope.FormError{Path: path, What: fmt.Sprintf(what, args...)}
}

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func when(bad bool, path, what string, args ...any) error {
	if !bad {
		return nil
	}
	return form(path, what, args...)
}

// bytesIn holds a text to a length in bytes.
func bytesIn(path, s string, least, most int) error {
	return when(len(s) < least || len(s) > most, path, "%d bytes, %d to %d are allowed", len(s), least, most)
}

func oneOf[S ~string](path string, v S, set ...S) error {
	return when(!slices.Contains(set, v), path, "%.64q is not one of %v", v, set)
}

// sortedSet holds a list to ascending order without repetitions.
func sortedSet(path string, list []string) error {
	return when(!slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list), path, "not sorted or not distinct")
}

// digits holds an amount to a canonical integer string of the smallest unit.
func digits(path, s string) error {
	bad := s == "" || len(s) > maxDigits || s != "0" && s[0] == '0' || strings.Trim(s, "0123456789") != ""
	return when(bad, path, "%.64q is no amount in whole smallest units", s)
}
