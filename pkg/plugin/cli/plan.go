package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// planCommand is `kubectl upgrade plan` with its arguments.
type planCommand struct {
	*program
	output
	filter               nodeFilter
	version              string // empty: the upgrades that exist
	snapshotFile, saveTo string
	atText, timeZone     string
	files                []string // with schedules
	exitCode             bool

	zone      *time.Location
	at        time.Time                      // zero: when the snapshot was taken
	schedules []v1alpha1.MaintenanceSchedule // of the files
	unchecked string                         // why there are no findings; empty: the checks were made
}

func newPlan(p *program) *cobra.Command {
	n := &planCommand{program: p}
	cmd := &cobra.Command{
		Use:   "plan [VERSION]",
		Short: "Show in which order nodes go, when, and why a node waits",
		Long: `Shows the plan that the coordinator makes, and changes nothing:

  - the findings of the preflight checks;
  - the order of the nodes;
  - for each node whether it may begin, and if not, why and until when;
  - when each is expected to begin and to be done, from how long the nodes of
    this cluster took before.

With VERSION it plans an upgrade that does not exist yet; for a minor such as v1.35, to
its newest patch. With -l it shows only the nodes with these labels; the plan is for all.

It reads the cluster with your permissions, and with them tries by dry runs whether the
API server would take the Job that kubeadm creates. Without access to the cluster, use
--snapshot with a file that --save-snapshot wrote: the plan is then made for the time
at which the file was written, or for --at. The index of images is read from this
machine, at the address in the UpgradePolicy.`,
		Example: `  kubectl upgrade plan
  kubectl upgrade plan v1.35 --at "2026-12-24 18:00"
  kubectl upgrade plan -l pool=db
  kubectl upgrade plan -f new-schedules/
  kubectl upgrade plan --save-snapshot cluster.json
  kubectl upgrade plan --snapshot cluster.json v1.34.5
  kubectl upgrade plan v1.35 \
    -o jsonpath='{.findings[?(@.level=="Block")].message}'
  kubectl upgrade plan --exit-code \
    -o jsonpath='{.nodes[?(@.decision=="Wait")].name}'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.complete(versionsOnOffer),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				n.version = args[0]
			}
			return inOrder(cmd, n)
		},
	}
	n.output.addTo(cmd)
	n.filter.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&n.snapshotFile, "snapshot", "", "Read the state of the cluster from this file instead of the API server.")
	flags.StringVar(&n.saveTo, "save-snapshot", "", "Also save the state of the cluster to this file; - writes it to standard output instead of the plan.")
	flags.StringVar(&n.atText, "at", "", "Plan for this time: RFC 3339, or 2026-12-24 18:00 in --time-zone.")
	flags.StringVar(&n.timeZone, "time-zone", "", "Time zone in which times are read and printed. Default: this machine's.")
	flags.StringSliceVarP(&n.files, "filename", "f", nil, "Add the schedules of this file, folder, or standard input (-); they replace those of the same name.")
	flags.BoolVar(&n.exitCode, "exit-code", false, "Exit with 2 if there is something to do.")
	return cmd
}

func (n *planCommand) validate() error {
	if n.snapshotFile != "" && n.saveTo != "" {
		return errors.New("--snapshot and --save-snapshot cannot be combined")
	}
	if slices.ContainsFunc(n.files, func(file string) bool { return isSameFile(file, n.saveTo) }) {
		return fmt.Errorf("--save-snapshot=%s: it is a file that -f reads; name another file", n.saveTo)
	}
	if err := n.filter.read(); err != nil || n.version == "" {
		return err
	}
	return request.CheckVersion(n.version)
}

func (n *planCommand) complete(*cobra.Command) (err error) {
	if n.zone, err = zone(n.timeZone); err != nil {
		return err
	}
	if n.atText != "" {
		if n.at, err = parseTime("at", n.atText, n.zone); err != nil {
			return err
		}
	}
	if len(n.files) > 0 {
		n.schedules, err = n.schedulesIn(n.files)
	}
	return err
}

func (n *planCommand) run(ctx context.Context) error {
	n.warnOfSchedules(n.schedules, n.now())
	shot, err := n.read(ctx)
	if err != nil {
		return err
	}
	at := cmp.Or(n.at, shot.TakenAt)
	saved := shot
	saved.Schedules = slices.Clone(shot.Schedules)
	n.supposeManaged(&shot.Snapshot)
	if err := n.suppose(&shot.Snapshot, at); err != nil {
		return err
	}
	if err := n.check(ctx, &shot.Snapshot, at); err != nil {
		return err
	}
	if n.saveTo != "" {
		saved.Preflight, saved.Webhooks = shot.Preflight, shot.Webhooks
		if err := n.save(saved, n.saveTo); err != nil {
			return err
		}
	}
	decided := request.NoneReleased(plan.Predict(shot.Snapshot, at))
	if n.saveTo != "" && n.streamAt(n.saveTo) == n.Out {
		return n.code(decided) // the snapshot is the output
	}
	if err := n.show(shot.Snapshot, decided, at); err != nil {
		return err
	}
	return n.code(decided)
}

// code returns what --exit-code asks for.
func (n *planCommand) code(decided plan.Plan) error {
	if n.exitCode && request.HasWork(decided) {
		return errWork
	}
	return nil
}

// read returns the snapshot of a file, or of the cluster.
func (n *planCommand) read(ctx context.Context) (snapshotFile, error) {
	if n.snapshotFile != "" {
		shot, err := loadSnapshot(n.snapshotFile)
		if err == nil && shot.Policy != nil {
			n.clusterName = shot.Policy.Spec.ClusterName
		}
		return shot, err
	}
	return n.takeSnapshot(ctx, n.version != "")
}

// check makes the checks. From a file it takes the findings that are in it.
func (n *planCommand) check(ctx context.Context, s *clusterstate.Snapshot, at time.Time) error {
	if n.snapshotFile == "" {
		return n.runPreflight(ctx, s, at)
	}
	if request.ReuseFindings(s, at) {
		return nil
	}
	n.unchecked = n.snapshotFile + " has no findings for this upgrade; the plan assumes that no check blocks it"
	if !n.forPeople() {
		fmt.Fprintln(n.ErrOut, "Preflight: not checked:", n.unchecked)
	}
	return nil
}

// supposeManaged has the plan show what would happen if the mode were Manage, and says so.
func (p *program) supposeManaged(s *clusterstate.Snapshot) {
	supposed, observed := request.SupposeManaged(*s)
	if *s = supposed; observed {
		fmt.Fprintf(p.ErrOut, "The plan is what would happen; %s\n", render.ObservedNote)
	}
}

// suppose puts the schedules, and an upgrade that does not exist yet, into the snapshot.
func (n *planCommand) suppose(s *clusterstate.Snapshot, at time.Time) error {
	s.Schedules = slices.DeleteFunc(s.Schedules, func(old v1alpha1.MaintenanceSchedule) bool {
		return slices.ContainsFunc(n.schedules, func(one v1alpha1.MaintenanceSchedule) bool { return one.Name == old.Name })
	})
	s.Schedules = append(s.Schedules, n.schedules...)
	if n.version == "" {
		return nil
	}
	supposed, notes, err := request.SupposeVersion(*s, n.version, at)
	for _, note := range notes {
		fmt.Fprintln(n.ErrOut, note)
	}
	*s = supposed
	return err
}

// show writes the plan in the format that was chosen.
func (n *planCommand) show(s clusterstate.Snapshot, decided plan.Plan, at time.Time) error {
	shown := n.shown(s)
	only := decided
	only.Nodes = slices.DeleteFunc(slices.Clone(decided.Nodes), func(node plan.NodePlan) bool { return !shown(node.Name) })
	switch {
	case n.format() == "name":
		for _, node := range only.Nodes {
			fmt.Fprintf(n.Out, "nodeupgrade.%s/%s\n", v1alpha1.Group, node.Name)
		}
		return nil
	case !n.forPeople():
		return n.print(n.program, inUTC(only))
	}
	options := n.drawing()
	options.Now, options.Zone, options.Wide, options.Unchecked = at, n.zone, n.format() == "wide", n.unchecked
	if n.filter.selector != nil {
		options.Selector, options.Shows = n.filter.text, shown
	}
	planned := request.Planned(s, decided)
	upgrade := view.NewUpgrade(planned)
	if upgrade != nil {
		upgrade.Rollback = view.NewRollback(s, planned, decided)
	}
	if upgrade != nil && request.IsSupposed(upgrade.Name) {
		upgrade.Name = decided.Version + " (not requested yet)"
	}
	if upgrade == nil && decided.Create == nil {
		options.Available = view.NewerPatch(s)
	}
	_, err := io.WriteString(n.drawn, render.Plan(decided, upgrade, options))
	return err
}

// shown returns a function that reports whether the node of that name is shown.
func (n *planCommand) shown(s clusterstate.Snapshot) func(string) bool {
	names := map[string]bool{}
	for _, node := range s.Nodes {
		names[node.Name] = n.filter.matches(node.Labels)
	}
	return func(name string) bool { return n.filter.selector == nil || names[name] }
}

// inUTC returns the plan with its times as JSON shows them.
func inUTC(decided plan.Plan) plan.Plan {
	decided.Next = clusterstate.UTC(decided.Next)
	decided.PredictedStart, decided.PredictedEnd = clusterstate.UTC(decided.PredictedStart), clusterstate.UTC(decided.PredictedEnd)
	for i := range decided.Nodes {
		n := &decided.Nodes[i]
		n.Until, n.PredictedStart, n.PredictedEnd = clusterstate.UTC(n.Until), clusterstate.UTC(n.PredictedStart), clusterstate.UTC(n.PredictedEnd)
	}
	return decided
}

// checksTimeout is how long reading the cluster for the checks may take.
const checksTimeout = time.Minute

// runPreflight makes the checks that the coordinator makes, with the rights of the user,
// and puts the findings into the snapshot. What may not be read is a finding.
func (p *program) runPreflight(ctx context.Context, s *clusterstate.Snapshot, at time.Time) error {
	decided := plan.Decide(*s, at)
	upgrade := request.Planned(*s, decided)
	if upgrade == nil || decided.PreflightKey == "" {
		return nil // there is no upgrade to check
	}
	reader, err := p.reader()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, checksTimeout)
	defer cancel()
	clients := reader.clients()
	clients.Ours, clients.Policy, clients.Lists = nil, s.Policy, p.lists // our kinds are in the snapshot
	facts, err := snapshot.ReadPreflight(limited, clients, *upgrade, s.Source.Architectures(upgrade.Spec.Version))
	if err != nil {
		return explain("reading the cluster for the checks", err)
	}
	request.CompleteFacts(&facts, *s)
	facts.HealthJob = reader.tryHealthJob(limited, facts)
	facts.ServingRequests, _ = reader.servingRequests(limited) // who may not list them is not told of them
	w := facts.Workloads
	s.Webhooks = preflight.Webhooks(w.Validating, w.Mutating, w.EndpointSlices)
	s.Preflight = &clusterstate.Preflight{Upgrade: upgrade.Reference(), Key: decided.PreflightKey, At: at, Findings: preflight.Check(facts)}
	return nil
}
