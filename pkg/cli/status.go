package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// status is `kubectl upgrade status` with its arguments.
type status struct {
	*program
	output
	patience
	node  string // empty: all
	watch bool
	log   bool
}

func newStatus(p *program) *cobra.Command {
	s := &status{program: p}
	cmd := &cobra.Command{
		Use:   "status [NODE]",
		Short: "What runs, what is staged, who goes, who waits and why",
		Long: `Shows on one screen the upgrade that is active, the policy and the maintenance
schedules as they are now, and every node: what runs, what is staged, which step it
is at, and where it waits why and until when. With NODE, that node in detail.

With --watch it follows the upgrade that is active, or the next one: each node's
step, how far it is and how long it has been at it, what holds it up, and when all
is expected to be done. It ends when the upgrade does: with 0 when it succeeded,
3 when it failed or cannot go on by itself, 4 when --timeout passed before. On a
terminal the screen is redrawn; elsewhere each change becomes a line.

With NODE and --log it prints what kubeadm said there in its last run, from the log
of that node's agent.`,
		Example: `  kubectl upgrade status
  kubectl upgrade status worker-1
  kubectl upgrade status --watch --timeout 1h
  kubectl upgrade status cp-1 --log
  kubectl upgrade status -o jsonpath='{.nodes[?(@.state=="Waiting")].name}'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.node = args[0]
			}
			return s.run(cmd.Context())
		},
		ValidArgsFunction: p.completeNode,
	}
	s.output.addTo(cmd)
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "Follow until the upgrade has ended.")
	cmd.Flags().BoolVar(&s.log, "log", false, "With NODE: kubeadm's own words, from its last run there.")
	s.patience.addTo(cmd, "With --watch: how long to follow, such as 30m or 1d.")
	return cmd
}

func (s *status) check() error {
	if err := s.patience.read(); err != nil {
		return err
	}
	switch {
	case s.timeout > 0 && !s.watch:
		return errors.New("--timeout limits --watch: add -w")
	case s.log && s.node == "":
		return errors.New("--log wants a node: `kubectl upgrade status NODE --log`")
	case s.log && (s.watch || s.format() != ""):
		return errors.New("--log prints kubeadm's words as they are: leave out --watch and -o")
	case s.watch && !s.forPeople():
		return fmt.Errorf("--watch is for people: leave out -o %s, or --watch", s.format())
	}
	return nil
}

func (s *status) run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	reader, err := s.reader()
	if err != nil {
		return err
	}
	first, err := reader.read(ctx)
	if err != nil {
		return err
	}
	shown, err := s.look(first)
	if err != nil {
		return err
	}
	if s.node != "" && !s.watch {
		shown.Nodes[0].Installed = reader.installed(ctx, s.node)
	}
	switch {
	case s.log:
		return s.showKubeadmLog(ctx, reader, first)
	case s.watch:
		f := following{program: s.program, timeout: s.timeout, node: s.node, other: s.instead}
		return f.follow(ctx, reader, first)
	case s.format() == "name":
		return names(s.Out, shown)
	case !s.forPeople():
		return s.print(s.program, shown)
	}
	_, err = io.WriteString(s.drawn, s.draw(shown))
	return err
}

// instead is what is followed instead of an upgrade's progress: the node that was
// asked for, or as long as there is no upgrade, all.
func (s *status) instead(o objects) (picture string, instead bool, err error) {
	shown, err := s.look(o)
	return s.draw(shown), s.node != "" || s.format() == "wide", err
}

// look is the view of what was asked for: all, or one node.
func (s *status) look(o objects) (render.Status, error) {
	all := view(o)
	if s.node == "" {
		return all, nil
	}
	all.Nodes = only(s.node, all.Nodes)
	switch {
	case len(all.Nodes) == 0 && slices.Contains(all.Unmanaged, s.node):
		return all, fmt.Errorf("node %s is not managed: the UpgradePolicy's nodeSelector does not match it", s.node)
	case len(all.Nodes) == 0:
		return all, fmt.Errorf("there is no node %q; `kubectl upgrade status` lists them", s.node)
	}
	return all, nil
}

// only is the node with that name, if it is among them.
func only(name string, nodes []render.Node) []render.Node {
	return slices.DeleteFunc(nodes, func(n render.Node) bool { return n.Name != name })
}

func (s *status) draw(shown render.Status) string {
	options := s.drawing()
	options.Wide = s.format() == "wide"
	if s.node != "" && len(shown.Nodes) == 1 {
		return render.NodePage(shown.Nodes[0], options)
	}
	return render.Screen(shown, options)
}

// names writes the nodes' objects as kubectl takes them.
func names(out io.Writer, shown render.Status) error {
	for _, node := range shown.Nodes {
		if _, err := fmt.Fprintf(out, "nodeupgrade.%s/%s\n", v1alpha1.Group, node.Name); err != nil {
			return err
		}
	}
	return nil
}

// completeNode offers the nodes' names to the shell.
func (p *program) completeNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
	defer cancel()
	reader, err := p.reader()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	o, err := reader.read(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	nodes, _ := viewNodes(o)
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
