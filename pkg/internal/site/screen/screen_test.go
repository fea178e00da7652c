package main

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRecord records a command that asks, and needs a terminal of the right size.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.cast")
	if err := run(t.Context(), []string{"record", file, "sh", "-c", `stty size; printf 'sure? [y/N] '; read answer; echo "said $answer über"`}); err != nil {
		t.Fatal(err)
	}
	c, err := readCast(file)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range c.events {
		all.WriteString(e.data)
	}
	for _, want := range []string{"$\x1b[0m sh -c", "24 112\r\n", "sure? [y/N] y\r\n", "said y über\r\n"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing in %q", want, all.String())
		}
	}
	if !slices.IsSortedFunc(c.events, func(a, b event) int { return int(1e6 * (a.at - b.at)) }) {
		t.Errorf("the events are not in order: %v", c.events)
	}
}

func TestCommandThatFailsIsNoRecording(t *testing.T) {
	if _, err := record(t.Context(), []string{"false"}, io.Discard); err == nil {
		t.Error("got no error")
	}
}

func TestDraw(t *testing.T) {
	c := cast{Version: 2, Width: 20, Height: 3, Timestamp: 1795400000, Command: "a <b>", events: []event{
		{0, "$ "}, {1, "go\r\n"},
		{2, fullScreen + "\x1b[Hone\x1b[K"}, {37, "\x1b[H\x1b[31mtwo\x1b[0m  <x>"}, {72, backToLines}, {73, "done"},
	}}
	frames, seconds := c.frames()
	var at []float64
	for _, f := range frames {
		at = append(at, f.at)
	}
	// 70 seconds are shown in 7
	if want := []float64{0, 1, 2, 5.5, 9, 10}; !slices.Equal(at, want) || seconds != 14 {
		t.Errorf("got frames at %v until %v, want %v until 14", at, seconds, want)
	}
	svg := string(draw(c))
	for _, want := range []string{
		`<text x="0" textLength="24" class="c1">two</text><text x="40" textLength="24">&lt;x&gt;</text>`,
		"is shown 10 times faster", `aria-label="A terminal: a &lt;b&gt;"`,
		".film { transform: translateY(-270px);", "prefers-reduced-motion", "39.286% { transform: translateY(-162px); }",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, ">go</text>"); n != 0 {
		t.Errorf("a part of the line `$ go` is drawn alone %d times", n)
	}
	if n := strings.Count(svg, ">$ go</text>"); n != 1 {
		t.Errorf("the line `$ go`, which is in several frames, is drawn %d times", n)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
