package benchtest

import (
	"testing"
	"time"
)

func TestWordsOfFigures(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"a whole second and less", short(1500 * time.Millisecond), "1.5s"},
		{"milliseconds", short(4_560_000), "4.56ms"},
		{"microseconds", short(61_400), "61.4µs"},
		{"nanoseconds", short(812), "812ns"},
		{"thousands stand apart", count(1234567), "1,234,567"},
		{"three digits stay together", count(999), "999"},
		{"a target of two parts", Target{Ratio: 1.3, P50: time.Millisecond}.String(), "<= 1.3x, p50 <= 1ms"},
		{"a rate and a share", Target{Share: 0.6, Rate: 4000}.String(), ">= 60%, >= 4,000/s"},
		{"no target", Target{}.String(), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestSpread(t *testing.T) {
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(199-i))
	}
	if got, want := Of(all), (Spread{100, 198}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
