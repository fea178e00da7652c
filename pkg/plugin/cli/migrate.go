package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// migration is what the verbs of `kubectl upgrade migrate` share.
type migration struct {
	*program
	output
	dryRun
	file, daemonSet, schedule string
	nodeSelector              string
	apply, undo, yes          bool
	timeout                   timeout
}

// month is how far the windows of both are compared.
const month = 31 * 24 * time.Hour

func newMigrate(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Change over from another program, or from an earlier version",
		Long: `Shows what the settings of another program become with kubectl-upgrade, one by one, and
changes over to it; or rewrites files with objects of an earlier version.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newMigrateKured(p), newMigrateFLUO(p), newMigrateTimer(p), newMigrateObjects(p))
	for _, sub := range cmd.Commands() {
		sub.Args = p.explainArguments(sub.Args)
	}
	return cmd
}

// addTo adds the flags that change the cluster.
func (m *migration) addTo(cmd *cobra.Command) {
	m.output.addTo(cmd)
	m.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("dry-run").Usage = "With --apply or --undo: none, client (only say what would be done) or server (let the API server check each step without storing it)."
	flags.StringVarP(&m.file, "filename", "f", "", "Read the objects from this file, or standard input (-), without contacting the cluster.")
	flags.StringVar(&m.daemonSet, "daemonset", "", "The DaemonSet, as NAMESPACE/NAME, if there are several.")
	addSelector(cmd, &m.nodeSelector, "Which nodes are managed afterwards, such as pool=web, or all. Default: those of the other program.")
	flags.BoolVar(&m.apply, "apply", false, "Change over: create the objects, pause the other program, and start.")
	flags.BoolVar(&m.undo, "undo", false, "Go back to what was before --apply.")
	flags.BoolVarP(&m.yes, "yes", "y", false, "Do not ask for confirmation.")
	m.timeout.addTo(cmd, "30m", "How long the command may take, such as 2h or 1d; --apply and --undo wait for pods and nodes.")
}

// validate refuses flags that do not go together.
func (m *migration) validate() error {
	switch {
	case m.apply && m.undo:
		return errors.New("--apply and --undo: give one of them")
	case (m.apply || m.undo) && m.file != "":
		return errors.New("-f reads a file: --apply and --undo need the cluster")
	case (m.apply || m.undo) && !m.forPeople():
		return errors.New("-o: --apply and --undo print what they do; leave out -o, or --apply")
	case !m.apply && !m.undo && m.dryRun.mode != dryRunNone:
		return errors.New("--dry-run: without --apply or --undo nothing is changed anyway")
	}
	return m.dryRun.check()
}

// chooseNodes sets the nodes that -l names.
func (m *migration) chooseNodes(result *migrate.Result) (err error) {
	switch m.nodeSelector {
	case "":
		return nil
	case "all":
		result.Policy.NodeSelector = nil
	default:
		if result.Policy.NodeSelector, err = parseSelector(m.nodeSelector); err != nil {
			return fmt.Errorf("--selector=%s: %w", m.nodeSelector, err)
		}
	}
	result.NodesChosen = true
	return nil
}

// show prints what the settings become, and the windows of both side by side.
func (m *migration) show(ctx context.Context, result migrate.Result) error {
	if !m.forPeople() {
		return m.print(m.program, map[string]any{"apiVersion": "v1", "kind": "List", "items": objectsOf(result)})
	}
	if err := m.nameCluster(ctx); err != nil {
		return err
	}
	options := m.drawing()
	options.Wide = m.format() == "wide"
	if _, err := io.WriteString(m.drawn, render.Migration(result, options)+"\n"); err != nil {
		return err
	}
	if err := m.compare(ctx, result, options); err != nil {
		return err
	}
	if m.apply {
		return nil
	}
	text, err := yamlOf(result)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Out, "\n%s", text)
	hint := "-o yaml prints only the objects."
	if result.Schedule != nil {
		hint = "--apply changes over, after a question; " + hint
	}
	fmt.Fprintf(m.ErrOut, "\nNothing was changed. %s\n", hint)
	return nil
}

// nameCluster notes what people call the cluster, unless the objects come from a file.
func (m *migration) nameCluster(ctx context.Context) error {
	if m.file != "" {
		return nil
	}
	reader, err := m.reader()
	if err != nil {
		return err
	}
	m.readName(ctx, reader)
	return nil
}

// compare draws the windows of both for the next month. Those of all schedules on the cluster
// count.
func (m *migration) compare(ctx context.Context, result migrate.Result, options render.Options) error {
	if result.Window == nil {
		return nil
	}
	var schedules []v1alpha1.MaintenanceSchedule
	if result.Schedule != nil {
		schedules = append(schedules, *result.Schedule)
		if in, err := schedule.Zone(result.Schedule.Spec.TimeZone); err == nil {
			options.Zone = in
		}
	}
	if m.file == "" {
		reader, err := m.reader()
		if err != nil {
			return err
		}
		if others, err := reader.schedules(ctx); err == nil { // without its kinds there are none
			for _, other := range others {
				if result.Schedule == nil || other.Name != result.Schedule.Name {
					schedules = append(schedules, other)
				}
			}
		}
	}
	from := m.now().Truncate(time.Minute)
	until := from.Add(month)
	openings, err := schedule.Next(schedules, nil, v1alpha1.TypeReboot, from, 40*24)
	if err != nil {
		return err
	}
	var ours []migrate.Span
	for _, o := range openings {
		if o.End.IsZero() || o.End.After(until) {
			o.End = until
		}
		if o.Start.Before(until) {
			ours = append(ours, migrate.Span{Start: o.Start, End: o.End})
		}
	}
	pairs := migrate.Compare(result.Window.Openings(from, until), ours)
	_, err = io.WriteString(m.drawn, render.SideBySide(result.Program, pairs, until, options))
	return err
}

// showOrChangeOver shows what the settings become. With --apply or --undo it changes over from the
// other program, or back.
func (m *migration) showOrChangeOver(ctx context.Context, result migrate.Result, other func(kubernetes.Interface) (migrate.Other, error)) error {
	if err := m.chooseNodes(&result); err != nil {
		return err
	}
	for _, object := range objectsOf(result) {
		if err := manifest.Verify(object); err != nil {
			return err
		}
	}
	if !m.undo {
		if err := m.show(ctx, result); err != nil {
			return err
		}
	}
	if !m.apply && !m.undo {
		return nil
	}
	reader, err := m.reader()
	if err != nil {
		return err
	}
	program, err := other(reader.kube)
	if err != nil {
		return err
	}
	return m.changeOver(ctx, &migrate.Changeover{Kube: reader.kube, Ours: reader.kinds, Other: program}, result)
}

// changeOver applies the result, or undoes it.
func (m *migration) changeOver(ctx context.Context, c *migrate.Changeover, result migrate.Result) error {
	c.Out, c.Every, c.DryRun = m.Out, time.Second, m.dryRun.options()
	if err := m.nameCluster(ctx); err != nil {
		return err
	}
	switch {
	case m.dryRun.mode == dryRunClient:
		return m.describe(c, result)
	case m.undo:
		if err := m.ask(ctx, fmt.Sprintf("Go back to %s%s?", result.Program, m.inCluster()), "nothing was changed"); err != nil {
			return err
		}
		return c.Undo(ctx)
	}
	fmt.Fprintln(m.Out)
	if err := c.Prepare(ctx, result); err != nil {
		return err
	}
	undone := result.Program + " was not paused, and what was created has no effect yet (--apply continues, --undo removes it)"
	if err := m.ask(ctx, fmt.Sprintf("Pause %s%s, and let kubectl-upgrade manage the nodes?", result.Program, m.inCluster()), undone); err != nil {
		return err
	}
	return c.Start(ctx, result)
}

// ask asks a person whether to continue. It returns nil for a yes, or with --yes.
func (m *migration) ask(ctx context.Context, question, undone string) error {
	if m.yes || m.dryRun.mode != dryRunNone {
		return nil
	}
	return m.question(ctx, question, undone)
}

// describe says what would be done.
func (m *migration) describe(c *migrate.Changeover, result migrate.Result) error {
	steps := []string{
		fmt.Sprintf("create MaintenanceSchedule %s", m.schedule),
		"set strategy, nodeSelector, gates and notices of UpgradePolicy " + v1alpha1.PolicyName + ", whose mode stays Observe",
		fmt.Sprintf("pause DaemonSet %s/%s: its nodeSelector matches no node", c.Other.Namespace, c.Other.DaemonSet),
		"wait until its pods are gone",
		"set mode: Manage and automatic of UpgradePolicy " + v1alpha1.PolicyName,
	}
	if m.undo {
		steps = []string{
			"set the mode of UpgradePolicy " + v1alpha1.PolicyName + " as it was",
			"wait until every node is given back",
			fmt.Sprintf("delete MaintenanceSchedule %s, and set the UpgradePolicy's fields as they were", m.schedule),
			fmt.Sprintf("resume DaemonSet %s/%s: its nodeSelector is as it was", c.Other.Namespace, c.Other.DaemonSet),
		}
	}
	fmt.Fprintf(m.Out, "\n%s would be changed over%s in these steps%s:\n", result.Program, m.inCluster(), m.dryRun)
	for i, step := range steps {
		fmt.Fprintf(m.Out, "%d. %s\n", i+1, step)
	}
	return nil
}

// objectsOf returns the objects that the settings become.
func objectsOf(result migrate.Result) (all []runtime.Object) {
	if result.Schedule != nil {
		all = append(all, result.Schedule)
	}
	return append(all, &v1alpha1.UpgradePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradePolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: result.Policy,
	})
}

// yamlOf returns the objects as YAML documents.
func yamlOf(result migrate.Result) (text string, err error) {
	for i, item := range objectsOf(result) {
		one, err := yaml.Marshal(item)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text += "---\n"
		}
		text += string(one)
	}
	return text, nil
}

// choose returns the DaemonSet that --daemonset names, or the only one that was found.
func (m *migration) choose(program, where string, all, found []*appsv1.DaemonSet) (*appsv1.DaemonSet, error) {
	name := func(d *appsv1.DaemonSet) string { return d.Namespace + "/" + d.Name }
	if m.daemonSet != "" {
		i := slices.IndexFunc(all, func(d *appsv1.DaemonSet) bool { return name(d) == m.daemonSet })
		if i < 0 {
			return nil, fmt.Errorf("there is no DaemonSet %s %s", m.daemonSet, where)
		}
		return all[i], nil
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s was not found %s: --daemonset NAMESPACE/NAME names its DaemonSet, -f FILE reads its manifest", program, where)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s has %d DaemonSets %s: say which, as in --daemonset %s", program, len(found), where, name(found[0]))
}

func daemonSetsOf(ctx context.Context, kube kubernetes.Interface) (all []*appsv1.DaemonSet, err error) {
	list, err := kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading DaemonSets", err)
	}
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// workloads are those of a file.
type workloads struct {
	daemonSets  []*appsv1.DaemonSet
	deployments []*appsv1.Deployment
}

// workloadsIn reads the DaemonSets and Deployments in a file. It skips other kinds.
func (p *program) workloadsIn(file string) (found workloads, err error) {
	text, err := p.readFile(file)
	if err != nil {
		return found, fmt.Errorf("reading %s: %w", displayName(file), err)
	}
	objects, err := manifest.Read(text)
	for i := 0; i < len(objects) && err == nil; i++ {
		switch objects[i].Kind {
		case "DaemonSet":
			d := &appsv1.DaemonSet{}
			err = objects[i].Decode(d)
			found.daemonSets = append(found.daemonSets, d)
		case "Deployment":
			d := &appsv1.Deployment{}
			err = objects[i].Decode(d)
			found.deployments = append(found.deployments, d)
		}
	}
	if err != nil {
		return found, fmt.Errorf("reading %s: %w", displayName(file), err)
	}
	return found, nil
}
