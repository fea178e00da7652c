package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Run runs the plugin with these arguments, and returns its exit code. Whatever goes wrong is
// one line on standard error: also a fault of the plugin itself, and output that could not be
// written.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, version string) int {
	p := newProgram(streams, version)
	p.args = args
	root := p.command()
	root.SetArgs(args)
	err := untilInterrupted(ctx, func() error { return withoutStack(version, func() error { return root.ExecuteContext(ctx) }) })
	for _, skew := range p.skews(ctx) {
		fmt.Fprintln(p.ErrOut, "warning:", clip(skew))
	}
	if problem := p.written.problem(); problem != nil && (err == nil || errors.Is(err, errWork) || errors.Is(err, problem)) {
		err = fmt.Errorf("writing standard output: %w", cause(problem))
	}
	return exit(err, streams.ErrOut)
}

// interruptGrace is how long a verb may take to say what goes on without it.
const interruptGrace = time.Second

// untilInterrupted runs work, and ends with the person's Ctrl-C also where work does not: to open a
// pipe, or to read a terminal, cannot be interrupted.
func untilInterrupted(ctx context.Context, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(interruptGrace):
		return context.Canceled
	}
}

// withoutStack runs work. A panic becomes an error.
func withoutStack(version string, work func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = faultError(version, fault)
		}
	}()
	return work()
}

// CrashInOneLine has a panic in a goroutine end the program as one in a verb does, where the
// goroutine calls HandleCrash, as those of client-go do: with one line, and not with a stack and the
// exit code 2.
func CrashInOneLine(errOut io.Writer, version string) {
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, fault any) {
		os.Exit(exit(faultError(version, fault), errOut))
	}}
}

// faultError returns the error for a panic. Only a function that is called while it unwinds may call it.
func faultError(version string, fault any) error {
	return fmt.Errorf("this is a fault of kubectl upgrade %s, at %s: %v; please report this line at https://github.com/kubectl-upgrade/kubectl-upgrade/issues",
		version, faultAt(), fault)
}

// faultAt returns the file and line that panicked.
func faultAt() string {
	const most = 64
	callers := make([]uintptr, most)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || inRuntime && frame.Function != "runtime.Callers"
		if !more {
			return "an unknown place"
		}
	}
}

// written is standard output. It remembers the first error: not everything that writes there
// returns one, and a full disk must not look like success.
type written struct {
	out   io.Writer
	mu    sync.Mutex
	first error
}

// Write is part of io.Writer.
func (w *written) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.first == nil {
			w.first = err
		}
	}
	return n, err
}

func (w *written) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}
