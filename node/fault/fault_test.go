package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
)

// all is the closed set, in the order of the specification.
var all = []Code{
	Invalid, Unauthenticated, Refused, NeedsApproval, NotFound, Conflict, Expired, Revoked, Exhausted, BudgetExhausted, Replay,
	ClockSkew, NotCanonical, Stale, Forked, TooLarge, RateLimited, Unavailable, Internal,
}

func TestCodes(t *testing.T) {
	want := map[Code][2]int{
		"invalid": {400, 1}, "not_canonical": {400, 1}, "unauthenticated": {401, 3}, "clock_skew": {401, 3}, "refused": {403, 3},
		"needs_approval": {403, 3}, "revoked": {403, 3}, "expired": {403, 3}, "exhausted": {403, 3}, "budget_exhausted": {403, 3},
		"not_found": {404, 1}, "conflict": {409, 1}, "stale": {409, 3}, "forked": {409, 3}, "too_large": {413, 1}, "replay": {422, 3},
		"rate_limited": {429, 1}, "unavailable": {503, 1}, "internal": {500, 1},
	}
	got := map[Code][2]int{}
	for _, c := range all {
		got[c] = [2]int{c.Status(), c.Exit()}
		if words[c] == "" {
			t.Errorf("%s has no words", c)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if set := slices.Collect(maps.Keys(surfaces)); len(set) != len(all) || len(words) != len(all) {
		t.Errorf("%d codes on surfaces, %d in words, want %d", len(set), len(words), len(all))
	}
	for _, c := range []Code{"", "Revoked", "teapot"} {
		if c.Valid() || c.Status() != 500 || c.Exit() != 1 {
			t.Errorf("%q: got %v, %d, %d", c, c.Valid(), c.Status(), c.Exit())
		}
	}
}

// below is an error of a package that knows its code.
type below struct{ code string }

func (b below) Error() string     { return "below" }
func (b below) FaultCode() string { return b.code }

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want Code
		exit int
	}{
		{"nothing", nil, "", 0},
		{"a refusal", New(Revoked, "ended", ""), Revoked, 3},
		{"a refusal below others", fmt.Errorf("read: %w", New(Stale, "", "")), Stale, 3},
		{"a refusal with a code outside the set", New("teapot", "", ""), Internal, 1},
		{"an error that knows its code", fmt.Errorf("x: %w", below{"not_found"}), NotFound, 1},
		{"an error that knows a code outside the set", below{"teapot"}, Internal, 1},
		{"a denial of the lending rules", &lending.Denial{Code: lending.CodeReplay}, Replay, 3},
		{"a deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), Unavailable, 1},
		{"a cancelled call", context.Canceled, Unavailable, 1},
		{"a bad signature", fmt.Errorf("x: %w", envelope.ErrSignature), Unauthenticated, 3},
		{"an unknown key", envelope.ErrUnknownKey, Unauthenticated, 3},
		{"a bad form", fmt.Errorf("x: %w", &envelope.FormError{Path: "op", What: "missing"}), Invalid, 1},
		{"another type", &envelope.TypeError{}, Invalid, 1},
		{"an input that is too large", envelope.ErrTooLarge, TooLarge, 1},
		{"anything else", errors.New("disk on fire"), Internal, 1},
		{"a wrong call of a command", fmt.Errorf("x: %w", ErrUsage), Internal, 2},
		{"a file that does not verify", fmt.Errorf("x: %w", ErrUnverified), Internal, 4},
	} {
		if got, exit := Of(c.err), Exit(c.err); got != c.want || exit != c.exit {
			t.Errorf("%s: got %q, exit %d, want %q, %d", c.name, got, exit, c.want, c.exit)
		}
	}
}

func TestLendingCodesAreInTheSet(t *testing.T) {
	for _, c := range []lending.Code{
		lending.CodeInvalid, lending.CodeUnauthenticated, lending.CodeRefused, lending.CodeNotFound, lending.CodeExpired, lending.CodeRevoked,
		lending.CodeExhausted, lending.CodeBudgetExhausted, lending.CodeReplay, lending.CodeClockSkew, lending.CodeStale, lending.CodeUnavailable,
	} {
		if !Code(c).Valid() {
			t.Errorf("%s is not in the closed set", c)
		}
	}
}

func TestDenied(t *testing.T) {
	cause := errors.New("disk on fire")
	for want, d := range map[string]*Denied{
		"access has ended: permission revoked at noon": New(Revoked, "ended", "permission revoked at %s", "noon"),
		"access has ended: ended":                      New(Revoked, "ended", ""),
		"not found":                                    New(NotFound, "", ""),
		"refused: 100% of it":                          New(Refused, "", "100% of it"),
		"not available now: disk on fire":              Wrap(Unavailable, "disk", cause),
		"internal error":                               New("teapot", "", ""),
	} {
		if d.Error() != want {
			t.Errorf("got %q, want %q", d.Error(), want)
		}
	}
	d := Wrap(Unavailable, "disk", cause)
	if h := d.WithHint("free %d bytes", 7); h.Hint != "free 7 bytes" || d.Hint != "" || !errors.Is(h, cause) {
		t.Errorf("got %+v after %+v", h, d)
	}
}

func TestFrom(t *testing.T) {
	if From(nil) != nil {
		t.Error("nil is a refusal")
	}
	d := New(Stale, "", "")
	if From(fmt.Errorf("x: %w", d)) != d {
		t.Error("a refusal is made anew")
	}
	got := From(&lending.Denial{Code: lending.CodeRefused, Reason: "outside_scope", Hint: "ask", Detail: "no", Perm: envelope.IDOf(nil)})
	if got.Perm != envelope.IDOf(nil) || got.Code != Refused || got.Reason != "outside_scope" || got.Hint != "ask" || got.Detail != "no" {
		t.Errorf("got %+v", got)
	}
}

func TestProblem(t *testing.T) {
	id := envelope.IDOf([]byte("x"))
	d := New(Revoked, "ended", "permission revoked")
	d.Hint, d.Perm, d.Receipt = "ask again", id, "a.b"
	p := ProblemOf(fmt.Errorf("outer text: %w", d))
	want := Problem{"about:blank", "Forbidden", 403, Revoked, "ended", "ask again", "permission revoked", id.String(), "a.b"}
	if p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := ParseProblem(b); !reflect.DeepEqual(got, d) {
		t.Errorf("read: got %+v, want %+v", got, d)
	}
}

// Nothing of what broke inside leaves the machine.
func TestInternalCarriesNoDetail(t *testing.T) {
	secret := errors.New("open /home/ines/keys: permission denied")
	for _, err := range []error{nil, secret, Wrap(Internal, "keys", secret).WithHint("look into /home/ines"), New("teapot", "x", "y")} {
		if got, want := ProblemOf(err), (Problem{Type: "about:blank", Title: "Internal Server Error", Status: 500, Code: Internal, Reason: "internal"}); got != want {
			t.Errorf("%v: got %+v, want %+v", err, got, want)
		}
	}
}

func TestParseProblem(t *testing.T) {
	nothing := New(Unavailable, "no_answer", "the other side answered with something else than a refusal")
	for name, text := range map[string]string{
		"nothing": "", "a page of a portal": "<html>", "a code outside the set": `{"code":"teapot"}`, "no code": `{"status":403}`,
		"too much": `{"code":"revoked","hint":"` + strings.Repeat("x", MaxProblem) + `"}`,
	} {
		if got := ParseProblem([]byte(text)); !reflect.DeepEqual(got, nothing) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	got := ParseProblem([]byte(`{"code":"revoked","hint":"a\u001b[31mb\u202ec\nd\u2028e","reason":"` + strings.Repeat("é", 300) + `","perm":"x"}`))
	if want := (&Denied{Code: Revoked, Hint: "a[31mbcde", Reason: strings.Repeat("é", 256)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzParseProblem(f *testing.F) {
	f.Add([]byte(`{"code":"revoked","hint":"x","perm":"` + envelope.IDOf(nil).String() + `"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := ParseProblem(b)
		if !d.Code.Valid() || d.Verified || len(d.Hint) > maxText || strings.ContainsAny(d.Hint+d.Reason+d.Detail, "\n\x1b") {
			t.Errorf("%q: got %+v", b, d)
		}
	})
}
