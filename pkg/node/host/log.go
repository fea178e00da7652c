package host

import (
	"fmt"
	"io"
	"strings"
)

const tailBytes = 4 << 10

// Log passes on everything that a verb's programs print, and keeps the end of it.
type Log struct {
	to   io.Writer
	tail []byte
}

// NewLog returns a Log that writes to a writer.
func NewLog(to io.Writer) *Log { return &Log{to: to} }

func (l *Log) Write(p []byte) (int, error) {
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - tailBytes; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	return l.to.Write(p)
}

// Printf adds a line.
func (l *Log) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(l, format+"\n", args...)
}

// Tail returns the last 4 KiB at most. If the log is longer, it begins with a
// whole line.
func (l *Log) Tail() string {
	if len(l.tail) < tailBytes {
		return string(l.tail)
	}
	for i, b := range l.tail {
		if b == '\n' {
			return string(l.tail[i+1:])
		}
	}
	return string(l.tail)
}

// LastLine returns the last line of an output, which is where systemd's programs
// report an error.
func LastLine(output string) string {
	output = strings.TrimSpace(output)
	return output[strings.LastIndex(output, "\n")+1:]
}
