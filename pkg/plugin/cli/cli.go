package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
)

// program is what all verbs share: where they write, and the cluster they work on.
type program struct {
	// IOStreams are the program's streams. Control characters are removed.
	genericiooptions.IOStreams
	// drawn is Out for what render has drawn: its colors stay.
	drawn io.Writer
	// told is Out for sentences.
	told io.Writer
	// terminalOut is Out as it is, for escape sequences of our own, and terminalErr is ErrOut.
	terminalOut, terminalErr io.Writer
	written                  *written
	cluster                  *genericclioptions.ConfigFlags
	access                   *rest.Config    // the cluster, where it is one of several. Nil: that of the flags
	lists                    *snapshot.Lists // what the last snapshotFrom has read of the cluster
	sources                  *sources        // the indexes that were read, where they may be read once. Nil: each time
	reached                  *reached
	clusterName              string // what people call the cluster; see noteName
	color                    string
	verbosity                int
	version                  string
	args                     []string // the words of the command line
	now                      func() time.Time
}

// New returns the command, which Run runs.
func New(streams genericiooptions.IOStreams, version string) *cobra.Command {
	return newProgram(streams, version).command()
}

func newProgram(streams genericiooptions.IOStreams, version string) *program {
	p := &program{
		reached: &reached{readers: map[string]*reader{}},
		written: &written{out: streams.Out}, terminalOut: streams.Out, terminalErr: streams.ErrOut,
		cluster: genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config { return onlyAPI(unlimited(config)) }), version: version, now: time.Now,
	}
	p.drawn = safe{out: p.written, colors: true}
	p.told = sentencesTo(safe{out: p.written}, streams.Out)
	p.IOStreams = genericiooptions.IOStreams{In: streams.In, Out: safe{out: p.written}, ErrOut: sentencesTo(safe{out: streams.ErrOut}, streams.ErrOut)}
	return p
}

// command returns the command with all verbs.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-upgrade",
		Short: "Upgrade the nodes of a cluster inside maintenance windows",
		Long: `Upgrades the nodes of a kubeadm cluster on Flatcar to another version of Kubernetes,
by default one node at a time, inside maintenance windows. When a node waits, the
commands say why.

The plugin only shows the state and changes objects; agents on the nodes do the work.
Ctrl-C stops the display, not the upgrade.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl upgrade"},
		Version:       p.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return cmp.Or(p.checkColor(), p.checkDevices(cmd), p.readRequestTimeout(), p.setVerbosity())
		},
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	root.SetFlagErrorFunc(explainFlag)
	root.PersistentFlags().StringVar(&p.color, "color", "auto", "Whether to color: auto (on a terminal, unless NO_COLOR is set), always or never.")
	root.PersistentFlags().IntVarP(&p.verbosity, "v", "v", 0, "How much to write to standard error: 6 shows requests with their times, 7 also their headers, without credentials.")
	p.addClusterFlags(root)
	root.AddCommand(newStatus(p), newPlan(p), newApply(p), newRollback(p), newReboot(p), newHistory(p), newReport(p), newReleases(p), newWindows(p), newCertificates(p),
		newFreeze(p), newUnfreeze(p), newBlock(p), newUnblock(p),
		newSuspend(p), newResume(p), newApprove(p), newAbandon(p), newFollow(p), newFleet(p), newMigrate(p), newDoctor(p), newVersion(p), newCompletion(p))
	for _, cmd := range root.Commands() {
		cmd.Args = p.explainArguments(cmd.Args)
	}
	p.completeFlags(root)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	arrangeHelp(root)
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
	if isBlank(name) {
		return fmt.Errorf("an argument is empty: perhaps a variable is not set; see `%s --help`", cmd.CommandPath())
	}
	if said := meant(name); said != "" && !cmd.HasParent() {
		return fmt.Errorf("unknown command %q; %s", name, said)
	}
	hint := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	near := slices.Sorted(slices.Values(cmd.SuggestionsFor(name)))
	near = slices.DeleteFunc(near, func(verb string) bool { return verb == "abandon" }) // it must not be run by a typing error
	if len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q; %s", name, hint)
}

// maxReason is the API's limit for a reason, in characters.
const maxReason = 256

// checkReason checks the flag --reason.
func checkReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return errors.New("--reason is required: people who wait want to know why")
	}
	return checkLength("reason", reason)
}

// checkLength checks the length of a reason that a flag gives.
func checkLength(flag, reason string) error {
	if length := len([]rune(reason)); length > maxReason {
		return fmt.Errorf("--%s: the reason has %d characters, and %d is the most", flag, length, maxReason)
	}
	return nil
}

// explainFlag returns the error of parsing a flag with what it expects.
func explainFlag(cmd *cobra.Command, err error) error {
	if given := cmd.Flags().Args(); cmd.HasParent() && cmd.HasAvailableSubCommands() && len(given) > 0 {
		return unknownCommand(cmd, given[0]) // the flag may be one of the command that was meant
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && isBlank(invalid.GetValue()) {
		return emptyFlag(invalid.GetFlag())
	}
	if errors.As(err, &invalid) && errors.As(err, new(*csv.ParseError)) {
		err = fmt.Errorf("--%s=%s: a value with a comma or a \" has to stand in \", where \"\" is a \"", invalid.GetFlag().Name, invalid.GetValue())
	} else if errors.As(err, &invalid) {
		expected := map[string]string{"int": "a whole number, such as 10", "bool": "true or false", "duration": "a duration, such as 90m"}
		if want, known := expected[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s=%s: must be %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
}

// explainArguments returns a check that names the first argument that is not expected.
func (p *program) explainArguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := p.checkGiven(cmd, args); err != nil {
			return err
		}
		err := check(cmd, args)
		if err == nil || check(cmd, nil) != nil || errors.As(err, new(badName)) {
			return err
		}
		for n := range args {
			if check(cmd, args[:n+1]) != nil && cmd.HasAvailableSubCommands() {
				return unknownCommand(cmd, args[n])
			}
			if check(cmd, args[:n+1]) != nil {
				return fmt.Errorf("%q is one argument too many; usage: %s", args[n], usageOf(cmd))
			}
		}
		return err
	}
}
