package envelope

import (
	"cmp"
	"errors"
	"time"
)

// Time is an instant in whole seconds UTC, written "2026-12-01T10:00:00Z": years 1 to 9999, no leap seconds. Comparable
// with ==; the zero value is no time and has no text.
type Time struct{ s int64 } // seconds since the start of year 1, so that zero is not a usable instant

const (
	yearOne = -62135596800 // seconds from 1970 to the start of year 1
	timeLen = len("2006-01-02T15:04:05Z")
	lastOne = 315537897600 // seconds from year 1 to the start of year 10000
)

var errTime = errors.New("not a time: expected 2026-12-01T10:00:00Z")

// TimeOf cuts t to whole seconds. A t outside the years 1 to 9999 gives the zero value.
func TimeOf(t time.Time) Time { return fromUnix(t.Unix()) }

func fromUnix(unix int64) Time {
	s := unix - yearOne
	if s <= 0 || s >= lastOne {
		return Time{}
	}
	return Time{s}
}

// ParseTime reads the one spelling that String writes.
func ParseTime(s string) (Time, error) {
	if len(s) != timeLen || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z' {
		return Time{}, errTime
	}
	var f [6]int
	for i, at := range [6][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		for _, c := range []byte(s[at[0]:at[1]]) {
			if c < '0' || c > '9' {
				return Time{}, errTime
			}
			f[i] = f[i]*10 + int(c-'0')
		}
	}
	t := time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC)
	// Date carries overflow into the next unit; a text that needs it names no instant.
	if t.Month() != time.Month(f[1]) || t.Day() != f[2] || f[3] > 23 || f[4] > 59 || f[5] > 59 {
		return Time{}, errTime
	}
	out := TimeOf(t)
	if out.IsZero() {
		return Time{}, errTime
	}
	return out, nil
}

// Time returns the instant in UTC, the zero time.Time for the zero value.
func (t Time) Time() time.Time {
	if t.s == 0 {
		return time.Time{}
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// Unix returns seconds since 1970 UTC. It means nothing for the zero value.
func (t Time) Unix() int64 { return t.s + yearOne }

// IsZero reports whether t is no time.
func (t Time) IsZero() bool { return t.s == 0 }

// Compare returns -1, 0 or +1 as t is before, at or after u.
func (t Time) Compare(u Time) int { return cmp.Compare(t.s, u.s) }

// Before reports whether t is earlier than u.
func (t Time) Before(u Time) bool { return t.s < u.s }

// After reports whether t is later than u.
func (t Time) After(u Time) bool { return t.s > u.s }

// Add returns t moved by d, cut to whole seconds; zero if that leaves the years 1 to 9999 or t is zero.
func (t Time) Add(d time.Duration) Time {
	if t.s == 0 {
		return Time{}
	}
	return fromUnix(t.Unix() + int64(d/time.Second))
}

// Sub returns t less u.
func (t Time) Sub(u Time) time.Duration { return t.Time().Sub(u.Time()) }

// String returns "2026-12-01T10:00:00Z", and "" for the zero value.
func (t Time) String() string {
	if t.s == 0 {
		return ""
	}
	return string(t.append(nil))
}

func (t Time) append(dst []byte) []byte { return t.Time().AppendFormat(dst, "2006-01-02T15:04:05Z") }

// MarshalText returns String; the zero value is an error.
func (t Time) MarshalText() ([]byte, error) {
	if t.s == 0 {
		return nil, errors.New("time is missing")
	}
	return t.append(make([]byte, 0, timeLen)), nil
}

// UnmarshalText is ParseTime.
func (t *Time) UnmarshalText(b []byte) error {
	p, err := ParseTime(string(b))
	if err != nil {
		return err
	}
	*t = p
	return nil
}
