//go:build integration

package host

import (
	"testing"
	"time"
)

// SetConfinedTime sets the time limit of confined programs until the test ends.
func SetConfinedTime(t *testing.T, limit time.Duration) {
	former := confinedTime
	confinedTime = limit
	t.Cleanup(func() { confinedTime = former })
}

// SetProgram sets the program that direct verbs run.
func (c *Client) SetProgram(path string) { c.program = path }
