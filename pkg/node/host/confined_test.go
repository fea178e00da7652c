//go:build !integration

package host

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConfinedEnd checks which ends of the confined unit are the program's fault, so that its image is
// refused, and which are not, so that it is tried again.
func TestConfinedEnd(t *testing.T) {
	const killed, dumped = 2, 3 // CLD_KILLED and CLD_DUMPED of waitid(2)
	for name, test := range map[string]struct {
		end     confinedEnd
		program bool
		want    string
	}{
		"exit status":                {confinedEnd{result: "exit-code", code: exited, status: 3}, true, "exit status 3"},
		"no program":                 {confinedEnd{result: "exit-code", code: exited, status: execStatus}, true, "exit status 203"},
		"no namespace":               {confinedEnd{result: "exit-code", code: exited, status: 226}, false, "could not be set up: exit-code, status 226"},
		"no unit":                    {confinedEnd{result: "resources"}, false, "could not be set up: resources"},
		"too long":                   {confinedEnd{result: "timeout", code: killed, status: int32(unix.SIGKILL)}, true, "did not end within"},
		"crash":                      {confinedEnd{result: "core-dump", code: dumped, status: int32(unix.SIGSEGV)}, true, "SIGSEGV"},
		"forbidden call":             {confinedEnd{result: "signal", code: killed, status: int32(unix.SIGSYS)}, true, "SIGSYS"},
		"killed":                     {confinedEnd{result: "signal", code: killed, status: int32(unix.SIGKILL)}, false, "stopped by the signal SIGKILL"},
		"stopped":                    {confinedEnd{result: "success", code: killed, status: int32(unix.SIGTERM)}, false, "stopped by the signal SIGTERM"},
		"its memory":                 {confinedEnd{result: "oom-kill", code: killed, status: int32(unix.SIGKILL), peak: confinedMemory}, true, "more than 512 MiB"},
		"the node's memory":          {confinedEnd{result: "oom-kill", code: killed, status: int32(unix.SIGKILL), peak: confinedMemory / 2}, false, "oom-kill"},
		"memory, before systemd 255": {confinedEnd{result: "oom-kill", code: killed, status: int32(unix.SIGKILL)}, false, "oom-kill"},
	} {
		files, err := confinedFiles(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = files.result(test.end, nil)
		files.close()
		var program *ProgramFailure
		if err == nil || errors.As(err, &program) != test.program || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q, the program's fault: %v", name, err, test.want, test.program)
		}
	}
	files, err := confinedFiles(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.close()
	if _, err := files.result(confinedEnd{result: "success", code: exited}, nil); err != nil {
		t.Error(err)
	}
}
