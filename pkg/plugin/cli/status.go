package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// status is `kubectl upgrade status` with its arguments.
type status struct {
	*program
	output
	filter     nodeFilter
	timeout    timeout
	node       string // empty: all
	watch, log bool
}

func newStatus(p *program) *cobra.Command {
	s := &status{program: p}
	cmd := &cobra.Command{
		Use:   "status [NODE]",
		Short: "Show the active upgrade, the policy, schedules and every node",
		Long: `Shows on one screen the active upgrade, the policy and the maintenance schedules as
they are now, and every node: which version it runs, which image is staged, its step,
and, if it waits, why and until when. With NODE, that node in detail.

With --watch it follows the active upgrade, or the next one: each node's step,
progress and time, what blocks it, and when all nodes are expected to be done. On a
terminal the screen is redrawn; elsewhere each change becomes a line. It ends when the
upgrade does. Exit codes: 0 the upgrade succeeded; 3 it failed, was deleted, or needs
a person to continue; 4 --timeout was exceeded.

With -l it shows only the nodes with these labels. With NODE and --log it prints the
output of kubeadm's last run on that node, from the log of the node's agent.`,
		Example: `  kubectl upgrade status
  kubectl upgrade status worker-1
  kubectl upgrade status -l pool=db
  kubectl upgrade status --watch --timeout 1h
  kubectl upgrade status cp-1 --log
  kubectl upgrade status -o custom-columns=NODE:.name,STEP:.step,WHY:.reason
  kubectl upgrade status -o jsonpath='{.nodes[?(@.state=="Waiting")].name}'`,
		Args: nodeResource.optional,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.node = nodeResource.in(args)
			return s.run(cmd.Context())
		},
		ValidArgsFunction: p.complete(nodeNames),
	}
	s.output.addTo(cmd)
	s.filter.addTo(cmd)
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "Follow until the upgrade has ended.")
	cmd.Flags().BoolVar(&s.log, "log", false, "With NODE: print the output of kubeadm's last run on it.")
	s.timeout.addTo(cmd, "0", "With --watch: how long to follow, such as 30m or 1d.")
	return cmd
}

func (s *status) check() error {
	switch {
	case s.timeout.limit > 0 && !s.watch:
		return errors.New("--timeout limits --watch: add -w")
	case s.log && s.node == "":
		return errors.New("--log requires a node: `kubectl upgrade status NODE --log`")
	case s.log && (s.watch || s.format() != ""):
		return errors.New("--log prints kubeadm's output as it is: leave out --watch and -o")
	case s.node != "" && s.filter.text != "":
		return errors.New("NODE is one node: leave out -l, or NODE")
	case s.watch && !s.forPeople():
		return fmt.Errorf("--watch is for people: leave out -o %s, or --watch", s.format())
	}
	return s.filter.read()
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
	s.noteName(first.Policy)
	if s.filter.selector != nil && first.NodesUnread {
		return errUnreadLabels
	}
	all := view.NewStatus(first, s.now())
	if all.Upgrade != nil && !s.watch {
		first.Records, _ = reader.records(ctx) // without them the prediction is less exact
		all.Predict(first, s.now())
	}
	shown, err := s.choose(all)
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
		return s.follow(ctx, reader, first, watch.Watcher{Shows: s.shows, Picture: s.picture})
	case s.format() == "name":
		return writeNames(s.Out, s.filtered(shown))
	case !s.forPeople():
		return s.print(s.program, s.filtered(shown))
	}
	_, err = io.WriteString(s.drawn, s.draw(shown))
	return err
}

// shows reports whether the node is shown.
func (s *status) shows(n view.Node) bool {
	return (s.node == "" || n.Name == s.node) && s.filter.shows(n)
}

// filtered returns the status with the nodes that -l selects.
func (s *status) filtered(all view.Status) view.Status {
	all.Nodes = slices.DeleteFunc(slices.Clone(all.Nodes), func(n view.Node) bool { return !s.shows(n) })
	return all
}

// picture draws what is shown while there is no upgrade: the screen. With a node, -l, or
// -o wide, it is shown instead of the upgrade's progress.
func (s *status) picture(all view.Status) (picture string, instead bool, err error) {
	shown, err := s.choose(all)
	return s.draw(shown), s.node != "" || s.filter.selector != nil || s.format() == "wide", err
}

// choose returns the status with all nodes, or with the one that the user named.
func (s *status) choose(all view.Status) (view.Status, error) {
	if s.node == "" {
		return all, nil
	}
	all.Nodes = view.OnlyNode(all.Nodes, s.node)
	switch {
	case len(all.Nodes) == 0 && slices.Contains(all.Unmanaged, s.node):
		return all, fmt.Errorf("node %s is not managed: the UpgradePolicy's nodeSelector does not match it", s.node)
	case len(all.Nodes) == 0:
		return all, fmt.Errorf("there is no node %q; `kubectl upgrade status` lists them", s.node)
	}
	return all, nil
}

func (s *status) draw(shown view.Status) string {
	options := s.drawing()
	options.Wide = s.format() == "wide"
	if s.filter.selector != nil {
		options.Selector, options.Shows = s.filter.text, func(name string) bool { return slices.ContainsFunc(view.OnlyNode(shown.Nodes, name), s.shows) }
	}
	if s.node != "" && len(shown.Nodes) == 1 {
		return render.NodePage(shown.Nodes[0], options)
	}
	return render.Screen(shown, options)
}

// installed returns the versions whose images are on the node's disk. Nil: that is not
// known, or may not be read.
func (r *reader) installed(ctx context.Context, node string) []string {
	inventory, err := r.kinds.NodeInventories.Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return inventory.Installed
}

// writeNames writes the names of the NodeUpgrades as kubectl takes them.
func writeNames(out io.Writer, shown view.Status) error {
	for _, node := range shown.Nodes {
		if _, err := fmt.Fprintf(out, "nodeupgrade.%s/%s\n", v1alpha1.Group, node.Name); err != nil {
			return err
		}
	}
	return nil
}

// capital returns the text as the beginning of a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// follow runs the follower: on a terminal it redraws the screen, elsewhere it writes a
// line for each change.
func (p *program) follow(ctx context.Context, reader *reader, first clusterstate.Snapshot, f watch.Watcher) error {
	f.Clients, f.Now = reader.clients(), p.now
	first.Records, _ = reader.records(ctx) // without them the forecast is less exact
	f.Display = watch.NewLog(p.Out, p.clusterName, p.now)
	_, _, terminal := p.terminal()
	if terminal {
		f.Display = watch.NewScreen(p.terminalOut, p.terminal, p.drawing)
	}
	err := f.Run(ctx, first)
	switch {
	case terminal && f.ShowedEnd() && errors.As(err, new(watch.Failure)):
		return watch.NewFailure(fmt.Errorf("ClusterUpgrade %s has not succeeded", f.Followed().Name)) // the screen says why
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New(watch.GoesOn(f.Followed()))
	case errors.Is(err, context.Canceled) && f.Followed() != nil:
		fmt.Fprintf(p.ErrOut, "%s.\n", capital(watch.GoesOn(f.Followed())))
	}
	return err
}
