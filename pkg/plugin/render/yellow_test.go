package render

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestYellowIsReadable checks the contrast of yellow with a black and a white terminal, as WCAG 2 defines it. The colors from
// 16 on are a cube of six levels of red, green and blue (https://invisible-island.net/xterm/).
func TestYellowIsReadable(t *testing.T) {
	n, err := strconv.Atoi(strings.TrimPrefix(string(yellow), "38;5;"))
	if err != nil || n < 16 || n > 231 {
		t.Fatalf("yellow is %q, which each terminal draws as it likes", yellow)
	}
	linear := func(level int) float64 {
		value := []float64{0, 95, 135, 175, 215, 255}[level] / 255
		return math.Pow((value+0.055)/1.055, 2.4)
	}
	n -= 16
	light := 0.2126*linear(n/36) + 0.7152*linear(n/6%6) + 0.0722*linear(n%6)
	if black, white := (light+0.05)/0.05, 1.05/(light+0.05); black < 4 || white < 4 {
		t.Errorf("the contrast is %.1f with black, and %.1f with white", black, white)
	}
}
