package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// maxAnswer is how much of a process' output is read, in bytes.
const maxAnswer = 8 << 10

// runProgram has a process of its own send the message. What the process writes to its standard error
// is dropped: a panic may show the address.
func runProgram(ctx context.Context, program []string, o wire.Message) wire.Answer {
	input, err := json.Marshal(o)
	if err != nil {
		return wire.Answer{Problem: wire.ProblemOther}
	}
	ctx, stop := context.WithTimeout(ctx, wire.Timeout)
	defer stop()
	var output bytes.Buffer
	command := exec.CommandContext(ctx, program[0], program[1:]...) //nolint:gosec // the program is one of our image
	command.Stdin, command.Stdout, command.WaitDelay = bytes.NewReader(input), &limitedWriter{&output, maxAnswer}, time.Second
	if err := command.Start(); err != nil {
		return wire.Answer{Problem: wire.ProblemProgram}
	}
	if err := command.Wait(); err != nil {
		return wire.Answer{Problem: wire.ProblemEnded}
	}
	var answer wire.Answer
	if err := json.Unmarshal(output.Bytes(), &answer); err != nil {
		return wire.Answer{Problem: wire.ProblemOther}
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
