package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// program is what every verb has: where to write, and which cluster is meant.
type program struct {
	// IOStreams are what the program was given, but no control character passes.
	genericiooptions.IOStreams
	// drawn is Out for what render has drawn: its colors pass.
	drawn io.Writer
	// terminalOut is Out as it was given, for escape sequences of our own.
	terminalOut io.Writer
	cluster     *genericclioptions.ConfigFlags
	color       string
	version     string
	now         func() time.Time
}

// New makes the command. Its ExecuteContext returns errors that Exit makes a
// line and an exit code of.
func New(streams genericiooptions.IOStreams, version string) *cobra.Command {
	p := &program{drawn: safe{out: streams.Out, colors: true}, terminalOut: streams.Out, cluster: genericclioptions.NewConfigFlags(true), version: version, now: time.Now}
	streams.Out, streams.ErrOut = safe{out: streams.Out}, safe{out: streams.ErrOut}
	p.IOStreams = streams
	root := &cobra.Command{
		Use:   "kubectl-upgrade",
		Short: "Kubernetes patches and minors for the nodes of a cluster, one at a time, inside maintenance windows",
		Long: `Takes the nodes of a kubeadm cluster on Flatcar from one version of Kubernetes to
the next, one at a time, inside maintenance windows, and says why whenever it
waits.

The plugin shows and asks. Agents on the nodes do the work, so to interrupt it
stops nothing.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl upgrade"},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error { return p.checkColor() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&p.color, "color", "auto", "Whether to color: auto (on a terminal, unless NO_COLOR is set), always or never.")
	p.addClusterFlags(root)
	root.AddCommand(newStatus(p), newPlan(p), newApply(p), newHistory(p), newReleases(p), newWindows(p), newFreeze(p), newUnfreeze(p), newSuspend(p), newResume(p), newAbandon(p), newVersion(p), newCompletion(p))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	return root
}

// addClusterFlags adds kubectl's own flags. All work; the help shows those
// that people type, and `kubectl options` the others.
func (p *program) addClusterFlags(root *cobra.Command) {
	p.cluster.AddFlags(root.PersistentFlags())
	for _, name := range []string{
		"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority", "client-certificate", "client-key",
		"cluster", "disable-compression", "insecure-skip-tls-verify", "namespace", "proxy-url", "server", "tls-server-name", "token", "user",
	} {
		if flag := root.PersistentFlags().Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	hint := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := slices.Sorted(slices.Values(cmd.SuggestionsFor(name))); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q; %s", name, hint)
}
