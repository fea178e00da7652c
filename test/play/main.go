package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
)

// The most clusters and nodes: an API server takes 300 MiB.
const (
	mostClusters = 9
	mostNodes    = 100
)

// version is that of the programs, with which this one is built.
var version string

func main() {
	signal.Ignore(syscall.SIGPIPE) // Ctrl-C also ends what reads the output, and there is something to remove then
	klog.SetLogger(logr.Discard()) // what happens is written by the screen
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand(os.Stdout).ExecuteContext(ctx)
	ended := ctx.Err() != nil
	stop()
	if err == nil || ended {
		return // who ends it has what they wanted
	}
	fmt.Fprintln(os.Stderr, "play:", oneLine(err))
	os.Exit(1)
}

func newCommand(out io.Writer) *cobra.Command {
	var clusters, nodes string
	var options options
	command := &cobra.Command{
		Use:   "play",
		Short: "Clusters in which only the nodes are pretended, until Ctrl-C",
		Example: `  play --clusters 3 --nodes 5
  play publish v1.34.4`,
		Args:         cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			number, err := count("CLUSTERS", clusters, mostClusters)
			if err != nil {
				return err
			}
			size, err := count("NODES", nodes, mostNodes)
			if err != nil {
				return err
			}
			return play(cmd.Context(), &screen{out: out}, number, size, options)
		},
	}
	command.Flags().StringVar(&clusters, "clusters", "3", "how many clusters")
	command.Flags().StringVar(&nodes, "nodes", "5", "how many nodes each has; the first is its control plane")
	command.Flags().Float64Var(&options.speed, "speed", 1, "how many times faster than usual nodes pretend to be")
	command.Flags().StringVar(&options.source, "source", "", "the address of a real source of images, in place of one that pretends")
	command.Flags().StringVar(&options.address, "address", "", "another address for the certificates of the API servers, by which a proxy reaches them")
	command.AddCommand(newPublish(out))
	return command
}

// count reads how many there are to be.
func count(name, value string, most int) (int, error) {
	number, err := strconv.Atoi(value)
	if err != nil || number < 1 || number > most {
		return 0, fmt.Errorf("%s=%s: must be a whole number from 1 to %d", name, value, most)
	}
	return number, nil
}

// oneLine returns an error in one line: of a program's log, the last line says why.
func oneLine(err error) string {
	var program *apiserver.NotReady
	if errors.As(err, &program) {
		return fmt.Sprintf("%s does not start (%s): %s", program.Name, program.Why, last(program.Log))
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// last returns the last line that says something.
func last(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			return line
		}
	}
	return "it says nothing"
}
