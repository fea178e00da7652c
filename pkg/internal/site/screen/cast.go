package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The size of the terminal.
const (
	columns = 112
	lines   = 24
)

// cast is a recording.
type cast struct {
	Version   int    `json:"version"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Timestamp int64  `json:"timestamp"`
	Command   string `json:"command"`
	events    []event
}

// event is an output of the command, so many seconds after it began.
type event struct {
	at   float64
	data string
}

func (e event) MarshalJSON() ([]byte, error) { return json.Marshal([]any{e.at, "o", e.data}) }

func (e *event) UnmarshalJSON(text []byte) error {
	kind := ""
	fields := []any{&e.at, &kind, &e.data}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if kind != "o" {
		return fmt.Errorf("an event of kind %q: want o, for output", kind)
	}
	return nil
}

func (c cast) write(file string) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(c); err != nil {
		return err
	}
	for _, e := range c.events {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // a file of the checkout, for all to read
}

func readCast(file string) (c cast, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	if err := json.Unmarshal([]byte(head), &c); err != nil {
		return c, err
	}
	if c.Version != 2 {
		return c, fmt.Errorf("version %d of asciicast: want 2", c.Version)
	}
	for line := range strings.Lines(rest) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return c, err
		}
		c.events = append(c.events, e)
	}
	if len(c.events) == 0 {
		return c, fmt.Errorf("nothing is recorded")
	}
	return c, nil
}
