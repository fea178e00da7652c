package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
)

const (
	keystroke = 0.045 // seconds
	question  = "[y/N] "
	reading   = 2500 * time.Millisecond // a plan, before it is confirmed
)

// record runs the command in a terminal, and returns what it printed. It confirms a question
// with y, as a person does who has read the plan. It copies the output to watch.
func record(ctx context.Context, command []string, watch io.Writer) (cast, error) {
	c := cast{Version: 2, Width: columns, Height: lines, Timestamp: time.Now().Unix(), Command: strings.Join(command, " ")}
	began := c.prompt()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the command that the person gave
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TZ=UTC", "NO_COLOR=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: lines})
	if err != nil {
		return c, err
	}
	defer terminal.Close()
	start, pending := time.Now(), ""
	buffer := make([]byte, 64<<10)
	for {
		n, err := terminal.Read(buffer)
		pending += string(buffer[:n])
		whole := wholeRunes(pending)
		if text := pending[:whole]; text != "" {
			_, _ = io.WriteString(watch, text)
			c.events = append(c.events, event{began + time.Since(start).Seconds(), text})
			if strings.HasSuffix(text, question) {
				time.Sleep(reading)
				_, _ = io.WriteString(terminal, "y\n")
			}
		}
		pending = pending[whole:]
		if err != nil { // the command has ended: Linux says EIO
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return c, fmt.Errorf("%s: %w", c.Command, err)
	}
	return c, nil
}

// prompt adds a prompt after which a person types the command, and returns when it is typed.
func (c *cast) prompt() float64 {
	at := 0.0
	add := func(text string, after float64) {
		c.events = append(c.events, event{at, text})
		at += after
	}
	add("\x1b[32m$\x1b[0m ", 0.5)
	for _, r := range c.Command {
		add(string(r), keystroke)
	}
	add("\r\n", 0)
	return at
}

// wholeRunes returns how many bytes of the text are whole characters: a read may end within one.
func wholeRunes(text string) int {
	for end := len(text); end > 0 && len(text)-end < utf8.UTFMax; end-- {
		if r, size := utf8.DecodeLastRuneInString(text[:end]); r != utf8.RuneError || size > 1 {
			return end
		}
	}
	return 0
}
