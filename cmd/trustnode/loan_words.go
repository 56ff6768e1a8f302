package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"trustnode/node/httpapi"
)

// printTerms says what most loans do without.
func printTerms(w writer, l httpapi.Loan) {
	if len(l.Patterns) > 0 && !slices.Equal(l.Patterns, []string{"read"}) {
		fmt.Fprintf(w, "allows    %s\n", strings.Join(l.Patterns, ", "))
	}
	if l.NotBefore != "" {
		fmt.Fprintf(w, "begins    %s\n", l.NotBefore)
	}
	if l.CacheS > 0 {
		fmt.Fprintf(w, "cache     the borrower may keep an answer for %d s; a revocation may take that long\n", l.CacheS)
	}
	if l.Provenance != "" {
		fmt.Fprintln(w, "names     the borrower may name the lender in what it makes")
	}
	if l.Sublend != "" {
		fmt.Fprintln(w, "sublend   the borrower may ask the lender to let a third agent in")
	}
	for _, to := range l.WriteTo {
		fmt.Fprintf(w, "write to  %s, each time with the lender's consent\n", to)
	}
	for _, x := range []struct{ word, id string }{{"part of", l.Parent}, {"answers", l.Request}, {"replaces", l.Replaces}} {
		if x.id != "" {
			fmt.Fprintf(w, "%-9s %s\n", x.word, x.id)
		}
	}
	if g := l.Growth; g != nil && l.ID == "" { // of the one that is replaced
		fmt.Fprintf(w, "grown     the loan it replaces reached %s on %s\n", count(g.Matches, "entry"), g.At)
	}
}

// surveyTags is how many tags a preview lists; --json has all.
const surveyTags = 20

// printSurvey says what a scope reaches now.
func printSurvey(w writer, l httpapi.Loan) {
	v := l.Survey
	fmt.Fprintf(w, "matches   %s now", count(l.Matches, "entry"))
	for _, class := range slices.Sorted(maps.Keys(v.Classes)) {
		fmt.Fprintf(w, ", %d %s", v.Classes[class], class)
	}
	fmt.Fprintln(w)
	for _, tag := range slices.Sorted(maps.Keys(v.Excluded)) {
		fmt.Fprintf(w, "excluded  %s by -tag:%s\n", count(v.Excluded[tag], "entry"), tag)
	}
	fmt.Fprintf(w, "growth    %s\n", growthWords(v.Daily))
	tags := slices.SortedFunc(maps.Keys(v.Tags), func(a, b string) int { return cmp.Or(v.Tags[b]-v.Tags[a], cmp.Compare(a, b)) })
	for _, t := range tags[:min(len(tags), surveyTags)] {
		fmt.Fprintf(w, "tag       %-32s %d\n", t, v.Tags[t])
	}
	if more := len(tags) - surveyTags; more > 0 {
		fmt.Fprintf(w, "          and %s more: --json lists them\n", count(more, "tag"))
	}
	for _, e := range v.Newest {
		fmt.Fprintf(w, "newest    %s  %q\n", e.Created, oneLine(e.Statement))
	}
}

// growthWords says how fast matches came in.
func growthWords(daily []int) string {
	sum, most := 0, 0
	for _, n := range daily {
		sum, most = sum+n, max(most, n)
	}
	if sum == 0 {
		return fmt.Sprintf("none of them came in within %d days", len(daily))
	}
	return fmt.Sprintf("%d came in within %d days, at most %d a day, %d today", sum, len(daily), most, daily[0])
}
