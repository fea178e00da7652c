package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

// migrateKured is `kubectl upgrade migrate kured` with its arguments.
type migrateKured struct {
	migration
	windows string

	kured      *appsv1.DaemonSet
	containers containerReader
}

func newMigrateKured(p *program) *cobra.Command {
	m := &migrateKured{migration: migration{program: p}}
	cmd := &cobra.Command{
		Use:   "kured",
		Short: "Change over from kured",
		Long: `Reads kured's DaemonSet, with its flags and variables, and shows for each setting what it
becomes: a MaintenanceSchedule with kured's windows, and fields of the UpgradePolicy; or
why there is no counterpart. The windows of both for the next month follow side by side,
kured's by kured's own rules. Without --apply nothing is changed.

--apply creates the MaintenanceSchedule and sets the strategy while the UpgradePolicy's mode
is Observe, so that they have no effect yet. After a question it pauses kured, by a
nodeSelector that matches no node, waits until its pods are gone, and sets mode: Manage.
It refuses while kured holds its lock. --undo goes back: every node is given back, then
kured's nodeSelector is restored. Both can be interrupted and run again.`,
		Example: `  kubectl upgrade migrate kured
  kubectl upgrade migrate kured -o yaml > migrated.yaml
  kubectl upgrade migrate kured -f kured.yaml --windows whole
  kubectl upgrade migrate kured --apply
  kubectl upgrade migrate kured --undo`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, m) },
	}
	m.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&m.schedule, "schedule", "kured", "Name of the MaintenanceSchedule.")
	flags.StringVar(&m.windows, "windows", "same", "same: open exactly when kured's window is; whole: a window over midnight belongs to the day on which it begins.")
	_ = cmd.RegisterFlagCompletionFunc("windows", cobra.FixedCompletions([]cobra.Completion{"same", "whole"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (m *migrateKured) validate() error {
	if err := m.migration.validate(); err != nil {
		return err
	}
	if m.windows != "same" && m.windows != "whole" {
		return fmt.Errorf("--windows=%s: must be same or whole", m.windows)
	}
	return nil
}

// complete finds kured's DaemonSet, in the file or on the cluster.
func (m *migrateKured) complete(cmd *cobra.Command) (err error) {
	var all []*appsv1.DaemonSet
	where := "on this cluster"
	if m.file != "" {
		where = "in " + displayName(m.file)
		objects, err := m.workloadsIn(m.file)
		if err != nil {
			return err
		}
		all = objects.daemonSets
	} else {
		reader, err := m.reader()
		if err != nil {
			return err
		}
		m.containers.core = reader.kube.CoreV1()
		if all, err = daemonSetsOf(cmd.Context(), reader.kube); err != nil {
			return err
		}
	}
	found := rebootmanager.Kured(all, nil)
	if len(found) == 0 {
		found = rebootmanager.LikeKured(all) // a manifest may be a part of one, and a person chooses
	}
	m.kured, err = m.choose("kured", where, all, found)
	return err
}

func (m *migrateKured) run(ctx context.Context) error {
	d := m.kured
	pod := d.Spec.Template.Spec
	if original, paused := migrate.OriginalSelector(d); paused {
		pod.NodeSelector = original
	}
	result := migrate.FromKured(migrate.Kured{
		Container: m.containers.read(ctx, d.Namespace, pod, kuredContainer(pod)), Placement: placement(pod),
		ScheduleName: m.schedule, Whole: m.windows == "whole", Now: m.now(),
	})
	return m.showOrChangeOver(ctx, result, func(kube kubernetes.Interface) (migrate.Other, error) {
		return migrate.Other{
			Name: "kured", Namespace: d.Namespace, DaemonSet: d.Name,
			Busy: func(ctx context.Context, _ *appsv1.DaemonSet) (string, error) { return kuredBusy(ctx, kube, d) },
		}, nil
	})
}

// kuredBusy returns the node that the kured of that DaemonSet holds its lock for.
func kuredBusy(ctx context.Context, kube kubernetes.Interface, kured *appsv1.DaemonSet) (string, error) {
	all, err := daemonSetsOf(ctx, kube)
	if err != nil {
		return "", err
	}
	if by, held := rebootmanager.KuredHolder(all, []v1alpha1.DaemonSetReference{{Namespace: kured.Namespace, Name: kured.Name}}); held {
		return "kured holds its lock for " + by, nil
	}
	return "", nil
}

// kuredContainer returns the container that runs kured.
func kuredContainer(pod corev1.PodSpec) corev1.Container {
	one := func(c corev1.Container) bool { return rebootmanager.IsKured(c) || c.Name == "kured" }
	if i := slices.IndexFunc(pod.Containers, one); i >= 0 {
		return pod.Containers[i]
	}
	if len(pod.Containers) > 0 {
		return pod.Containers[0]
	}
	return corev1.Container{}
}

// migrateFLUO is `kubectl upgrade migrate fluo` with its arguments.
type migrateFLUO struct {
	migration

	settings migrate.FLUO
	agents   *appsv1.DaemonSet
	// toHold are Nodes that a person has paused, and that have no hold yet.
	toHold []string
}

func newMigrateFLUO(p *program) *cobra.Command {
	m := &migrateFLUO{migration: migration{program: p}}
	cmd := &cobra.Command{
		Use:   "fluo",
		Short: "Change over from FLUO, the Flatcar Linux Update Operator",
		Long: `Reads FLUO's operator and the DaemonSet of its agents, and shows for each setting what it
becomes, as ` + "`kubectl upgrade migrate kured`" + ` does. Without --apply nothing is changed.

--apply creates the MaintenanceSchedule and sets the strategy while the UpgradePolicy's mode
is Observe. After a question it pauses FLUO: its agents run on no node, and each Node is
annotated reboot-paused=true. Then it sets mode: Manage. It refuses while FLUO reboots a
node. --undo goes back. Both can be interrupted and run again.`,
		Example: `  kubectl upgrade migrate fluo
  kubectl upgrade migrate fluo --apply
  kubectl upgrade migrate fluo --undo`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, m) },
	}
	m.addTo(cmd)
	cmd.Flags().StringVar(&m.schedule, "schedule", "fluo", "Name of the MaintenanceSchedule.")
	return cmd
}

func (m *migrateFLUO) validate() error { return m.migration.validate() }

// complete reads FLUO from the file or from the cluster.
func (m *migrateFLUO) complete(cmd *cobra.Command) (err error) {
	m.settings = migrate.FLUO{ScheduleName: m.schedule, Now: m.now()}
	var containers containerReader
	var objects workloads
	ctx, in := cmd.Context(), &m.settings
	where := "on this cluster"
	if m.file != "" {
		where = "in " + displayName(m.file)
		objects, err = m.workloadsIn(m.file)
	} else {
		objects, containers, err = m.readCluster(ctx, in)
	}
	if err != nil {
		return err
	}
	agents := slices.DeleteFunc(slices.Clone(objects.daemonSets), func(d *appsv1.DaemonSet) bool {
		_, is := fluoContainer(d.Spec.Template.Spec)
		return !is
	})
	d, err := m.choose("FLUO", where, objects.daemonSets, agents)
	if err != nil {
		return err
	}
	m.agents = d
	pod := d.Spec.Template.Spec
	if original, paused := migrate.OriginalSelector(d); paused {
		pod.NodeSelector = original
	}
	agent, _ := fluoContainer(pod)
	in.Agent, in.Placement = containers.read(ctx, d.Namespace, pod, agent), placement(pod)
	for _, operator := range objects.deployments {
		if c, is := fluoContainer(operator.Spec.Template.Spec); is {
			in.Operator = containers.read(ctx, operator.Namespace, operator.Spec.Template.Spec, c)
		}
	}
	return nil
}

func (m *migrateFLUO) run(ctx context.Context) error {
	return m.showOrChangeOver(ctx, migrate.FromFLUO(m.settings), func(kube kubernetes.Interface) (migrate.Other, error) {
		if m.apply && len(m.toHold) > 0 {
			return migrate.Other{}, fmt.Errorf("FLUO is paused on Nodes that kubectl-upgrade would reboot: run `kubectl label node %s %s=` first, or remove the annotation %s",
				strings.Join(m.toHold, " "), v1alpha1.HoldLabel, migrate.FLUOPaused)
		}
		return migrate.FLUODaemonSet(kube, m.agents.Namespace, m.agents.Name), nil
	})
}

// fluoImage is part of the name of FLUO's image.
const fluoImage = "flatcar-linux-update-operator"

func fluoContainer(pod corev1.PodSpec) (corev1.Container, bool) {
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, fluoImage) })
	if i < 0 {
		return corev1.Container{}, false
	}
	return pod.Containers[i], true
}

// readCluster reads the workloads of the cluster, and which Nodes a person has paused.
func (m *migrateFLUO) readCluster(ctx context.Context, in *migrate.FLUO) (objects workloads, containers containerReader, err error) {
	reader, err := m.reader()
	if err != nil {
		return objects, containers, err
	}
	containers.core = reader.kube.CoreV1()
	if objects.daemonSets, err = daemonSetsOf(ctx, reader.kube); err != nil {
		return objects, containers, err
	}
	deployments, err := reader.kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return objects, containers, explain("reading Deployments", err)
	}
	for i := range deployments.Items {
		objects.deployments = append(objects.deployments, &deployments.Items[i])
	}
	nodes, err := reader.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return objects, containers, explain("reading Nodes", err)
	}
	for _, n := range nodes.Items {
		if _, ours := n.Annotations[v1alpha1.PausedAnnotation]; !ours && n.Annotations[migrate.FLUOPaused] == "true" {
			in.Paused = append(in.Paused, n.Name)
			if _, held := n.Labels[v1alpha1.HoldLabel]; !held {
				m.toHold = append(m.toHold, n.Name)
			}
		}
	}
	return objects, containers, nil
}

// migrateTimer is `kubectl upgrade migrate timer` with its arguments.
type migrateTimer struct {
	migration

	reader *reader
}

func newMigrateTimer(p *program) *cobra.Command {
	m := &migrateTimer{migration: migration{program: p}}
	cmd := &cobra.Command{
		Use:   "timer",
		Short: "What changes for nodes that update by the sysupdate timer",
		Long: `Shows what changes for nodes on which systemd-sysupdate.timer downloads patches of
Kubernetes, and what the agents have found there: drop-ins of the timer, a symlink that has
been moved already, locksmithd. It only reads. The agents find it out before any node is
managed; without agents, nothing is known of the nodes.`,
		Example: `  kubectl upgrade migrate timer
  kubectl upgrade migrate timer -o yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, m) },
	}
	m.output.addTo(cmd)
	return cmd
}

// validate refuses nothing: it changes nothing, and has no flag but -o.
func (m *migrateTimer) validate() error { return nil }

func (m *migrateTimer) complete(*cobra.Command) (err error) {
	m.reader, err = m.program.reader()
	return err
}

func (m *migrateTimer) run(ctx context.Context) error {
	var in migrate.Timer
	nodes, err := m.reader.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading Nodes", err)
	}
	for _, n := range nodes.Items {
		if cmp.Or(n.Status.NodeInfo.OperatingSystem, "linux") == "linux" {
			in.Nodes = append(in.Nodes, n.Name)
		}
	}
	switch list, err := m.reader.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		in.NodeUpgrades = list.Items
	case !apierrors.IsNotFound(err): // without the kind, no agent has reported
		return explain("reading NodeUpgrades", err)
	}
	switch list, err := m.reader.kinds.NodeInventories.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		in.Inventories = list.Items
	case !apierrors.IsNotFound(err):
		return explain("reading NodeInventories", err)
	}
	return m.show(ctx, migrate.FromTimer(in))
}
