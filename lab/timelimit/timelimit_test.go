package timelimit

import (
	"testing"
	"time"
)

func TestScale(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": time.Minute, "1": time.Minute, "10": 10 * time.Minute, "1.5": 90 * time.Second,
	} {
		t.Setenv(Variable, value)
		if got := Scale(time.Minute); got != want || Check() != nil {
			t.Errorf("%q: got %s, want %s; Check: %v", value, got, want, Check())
		}
	}
	for _, value := range []string{"0", "0.5", "-1", "NaN", "ten", "1e9"} {
		t.Setenv(Variable, value)
		if err := Check(); err == nil || Scale(time.Minute) != time.Minute {
			t.Errorf("%q: got %s and error %v, want 1m0s and an error", value, Scale(time.Minute), err)
		}
	}
}
