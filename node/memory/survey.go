package memory

import (
	"context"
	"slices"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Caps of a survey.
const (
	// SurveyDays is over how many days growth is told, the day of the question included.
	SurveyDays = 30
	// surveyTags is how many tags a survey counts one by one.
	surveyTags = 1000
	// surveyNewest is how many statements it shows.
	surveyNewest = 5
)

// Survey is what an operator sees of a scope before it is lent (04, section 3). It is for
// the operator alone: it counts what is excluded too.
type Survey struct {
	Tags     map[string]int  // of the matches, reserved ones included; past 1,000 tags the others under ""
	Excluded map[string]int  // by exclusion: entries that would match but for it, and perhaps others
	Daily    [SurveyDays]int // matches by day of ingestion, UTC: [0] is the day of the question
	Newest   []Entry         // at most 5
}

// Survey evaluates a scope in full, as Stats does. Errors: *Invalid.
func (e *Entries) Survey(ctx context.Context, in Place, s lending.Scope, at time.Time) (Survey, error) {
	if err := in.check(); err != nil {
		return Survey{}, err
	}
	if s.IsZero() {
		return Survey{}, invalid("scope", "missing")
	}
	var v surveying
	err := e.db.View(ctx, func(r store.Reader) error {
		v = surveying{out: Survey{Tags: map[string]int{}, Excluded: map[string]int{}}, none: s.None(), day: day(at)}
		for _, t := range v.none {
			v.out.Excluded[t] = 0
		}
		err := candidates(ctx, r, in, s.WithoutExclusions(), at, nil, false, func(c *card) (bool, error) {
			v.take(c)
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, id := range v.newest {
			n, err := load(r, in, id)
			if err != nil {
				return err
			}
			v.out.Newest = append(v.out.Newest, n)
		}
		return nil
	})
	if err != nil {
		return Survey{}, err
	}
	return v.out, nil
}

// surveying is one Survey.
type surveying struct {
	out    Survey
	none   []string
	day    int64
	newest []string
}

// take counts one entry that matches but for the exclusions.
func (v *surveying) take(c *card) {
	excluded := false
	for _, t := range v.none {
		if slices.Contains(c.tags, t) {
			v.out.Excluded[t]++
			excluded = true
		}
	}
	if excluded {
		return
	}
	for _, t := range c.tags {
		if _, ok := v.out.Tags[t]; !ok && len(v.out.Tags) >= surveyTags {
			t = ""
		}
		v.out.Tags[t]++
	}
	if ago := v.day - day(c.created); ago >= 0 && ago < SurveyDays {
		v.out.Daily[ago]++
	}
	if len(v.newest) < surveyNewest { // candidates come newest first
		v.newest = append(v.newest, c.id)
	}
}

// day numbers the days since 1970, UTC.
func day(t time.Time) int64 { return t.Unix() / 86400 }
