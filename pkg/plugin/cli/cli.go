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

// program is what all verbs share: where they write, and the cluster they work on.
type program struct {
	// IOStreams are the program's streams. Control characters are removed.
	genericiooptions.IOStreams
	// drawn is Out for what render has drawn: its colors stay.
	drawn io.Writer
	// terminalOut is Out as it is, for escape sequences of our own.
	terminalOut io.Writer
	cluster     *genericclioptions.ConfigFlags
	color       string
	version     string
	now         func() time.Time
}

// New returns the command. Exit turns the error of its ExecuteContext into a line and an
// exit code.
func New(streams genericiooptions.IOStreams, version string) *cobra.Command {
	p := &program{drawn: safe{out: streams.Out, colors: true}, terminalOut: streams.Out, cluster: genericclioptions.NewConfigFlags(true).WithWrapConfigFn(unlimited), version: version, now: time.Now}
	streams.Out, streams.ErrOut = safe{out: streams.Out}, safe{out: streams.ErrOut}
	p.IOStreams = streams
	root := &cobra.Command{
		Use:   "kubectl-upgrade",
		Short: "Upgrade the nodes of a cluster inside maintenance windows",
		Long: `Upgrades the nodes of a kubeadm cluster on Flatcar to another version of Kubernetes,
by default one node at a time, inside maintenance windows. When a node waits, the
commands say why.

The plugin only shows the state and changes objects; agents on the nodes do the work.
Ctrl-C stops the display, not the upgrade.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl upgrade"},
		Version:       version,
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
	root.SetFlagErrorFunc(explainFlag)
	root.PersistentFlags().StringVar(&p.color, "color", "auto", "Whether to color: auto (on a terminal, unless NO_COLOR is set), always or never.")
	p.addClusterFlags(root)
	root.AddCommand(newStatus(p), newPlan(p), newApply(p), newHistory(p), newReport(p), newReleases(p), newWindows(p), newFreeze(p), newUnfreeze(p), newSuspend(p), newResume(p), newApprove(p), newAbandon(p), newMigrate(p), newDoctor(p), newVersion(p), newCompletion(p))
	for _, cmd := range root.Commands() {
		cmd.Args = explainArguments(cmd.Args)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	return root
}

// addClusterFlags adds kubectl's own flags. The help shows those that people type, and
// `kubectl options` the others.
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

// unknownCommand returns the error for a command that does not exist.
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
