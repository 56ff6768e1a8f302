package lending

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"trustnode/did/envelope"
)

// ErrEnd is wrapped where a text is neither a duration nor a time.
var ErrEnd = errors.New("neither a duration nor a time")

var inDays = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)

// ParseEnd reads what people type for an end or a beginning: a duration from at such as
// 720h, 30d or 2w, or a time such as 2026-12-31T00:00:00Z. Errors wrap ErrEnd.
func ParseEnd(text string, at time.Time) (envelope.Time, error) {
	if t, err := envelope.ParseTime(text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return envelope.TimeOf(t), nil
	}
	if m := inDays.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		if m[2] == "w" {
			n *= 7
		}
		return envelope.TimeOf(at.AddDate(0, 0, n)), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return envelope.TimeOf(at.Add(d)), nil
	}
	return envelope.Time{}, fmt.Errorf("%.40q is %w", text, ErrEnd)
}
