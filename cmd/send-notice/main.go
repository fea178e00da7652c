// Command send-notice sends one notice, for the coordinator. It is a program of its own because the
// coordinator's would be 29 MB larger with templates: Go then links every method that there is.
package main

import (
	"fmt"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // CA certificates: the container image has only our programs

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/send"
)

// version is set when a release is built.
var version = "unknown"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("send-notice version " + version)
		return
	}
	if err := send.Main(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
