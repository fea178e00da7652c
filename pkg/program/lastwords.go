package program

import (
	"fmt"
	"os"
)

// terminationLog is the file whose text the kubelet keeps in the pod's status as the last message of a container
// that has ended (terminationMessagePath). The kubelet makes it; it exists in containers only.
const terminationLog = "/dev/termination-log"

// leaveMessage writes why the program ends to such a file, if it exists.
func leaveMessage(file, message string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return // the log says it, too
	}
	defer func() { _ = f.Close() }()
	_, _ = fmt.Fprintln(f, message)
}
