package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"time"
)

// maxAnswer is how much of a process' output is read, in bytes.
const maxAnswer = 8 << 10

// runProgram has a process of its own send the order. What the process writes to its standard error
// is dropped: a panic may show the address.
func runProgram(ctx context.Context, program []string, order Order) Answer {
	input, err := json.Marshal(order)
	if err != nil {
		return Answer{Problem: ProblemOther}
	}
	ctx, stop := context.WithTimeout(ctx, Timeout)
	defer stop()
	var output bytes.Buffer
	command := exec.CommandContext(ctx, program[0], program[1:]...) //nolint:gosec // the program is the coordinator's own
	command.Stdin, command.Stdout, command.WaitDelay = bytes.NewReader(input), &limitedWriter{&output, maxAnswer}, time.Second
	if err := command.Run(); err != nil {
		return Answer{Problem: ProblemEnded}
	}
	var answer Answer
	if err := json.Unmarshal(output.Bytes(), &answer); err != nil {
		return Answer{Problem: ProblemOther}
	}
	return answer
}

// limitedWriter fails once more is written than room.
type limitedWriter struct {
	to   io.Writer
	room int
}

// Write implements io.Writer.
func (l *limitedWriter) Write(data []byte) (int, error) {
	if l.room -= len(data); l.room < 0 {
		return 0, io.ErrShortWrite
	}
	return l.to.Write(data)
}
