package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// screen is what the person sees where `make play` runs.
type screen struct {
	mu  sync.Mutex
	out io.Writer
}

// say writes a line.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// happened writes what happened in the pretended world.
func (s *screen) happened(where, node, what string) {
	s.say("%s  %-8s %-4s %s", time.Now().Format(time.TimeOnly), where, node, what)
}
