package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/changeover"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// migrateFLUO is `kubectl upgrade migrate fluo` with its arguments.
type migrateFLUO struct {
	migration
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
		RunE:              func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	m.addTo(cmd)
	cmd.Flags().StringVar(&m.schedule, "schedule", "fluo", "Name of the MaintenanceSchedule.")
	return cmd
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

func (m *migrateFLUO) run(ctx context.Context) error {
	if err := m.check(); err != nil {
		return err
	}
	in := migrate.FLUO{ScheduleName: m.schedule, Now: m.now()}
	d, err := m.read(ctx, &in)
	if err != nil {
		return err
	}
	result := migrate.FromFLUO(in)
	return m.conclude(ctx, result, func(kube kubernetes.Interface) (changeover.Other, error) {
		if m.apply && len(m.toHold) > 0 {
			return changeover.Other{}, fmt.Errorf("FLUO is paused on Nodes that kubectl-upgrade would reboot: run `kubectl label node %s %s=` first, or remove the annotation %s", strings.Join(m.toHold, " "), v1alpha1.HoldLabel, changeover.FLUOPaused)
		}
		return changeover.FLUO(kube, d.Namespace, d.Name), nil
	})
}

// read reads FLUO from the file or from the cluster. It returns the DaemonSet of its agents.
func (m *migrateFLUO) read(ctx context.Context, in *migrate.FLUO) (*appsv1.DaemonSet, error) {
	var containers containerReader
	var objects workloads
	var err error
	where := "on this cluster"
	if m.file != "" {
		where = "in " + displayName(m.file)
		objects, err = m.workloadsIn(m.file)
	} else {
		objects, containers, err = m.readCluster(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	agents := slices.DeleteFunc(slices.Clone(objects.daemonSets), func(d *appsv1.DaemonSet) bool {
		_, is := fluoContainer(d.Spec.Template.Spec)
		return !is
	})
	d, err := m.choose("FLUO", where, objects.daemonSets, agents)
	if err != nil {
		return nil, err
	}
	pod := d.Spec.Template.Spec
	if original, paused := changeover.OriginalSelector(d); paused {
		pod.NodeSelector = original
	}
	agent, _ := fluoContainer(pod)
	in.Agent, in.Placement = containers.read(ctx, d.Namespace, pod, agent), placement(pod)
	for _, operator := range objects.deployments {
		if c, is := fluoContainer(operator.Spec.Template.Spec); is {
			in.Operator = containers.read(ctx, operator.Namespace, operator.Spec.Template.Spec, c)
		}
	}
	return d, nil
}

// readCluster reads the workloads of the cluster, and which Nodes a person has paused.
func (m *migrateFLUO) readCluster(ctx context.Context, in *migrate.FLUO) (objects workloads, containers containerReader, err error) {
	kube, _, err := m.clients()
	if err != nil {
		return objects, containers, err
	}
	containers.core = kube.CoreV1()
	if objects.daemonSets, err = daemonSetsOf(ctx, kube); err != nil {
		return objects, containers, err
	}
	deployments, err := kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return objects, containers, explain("reading Deployments", err)
	}
	for i := range deployments.Items {
		objects.deployments = append(objects.deployments, &deployments.Items[i])
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return objects, containers, explain("reading Nodes", err)
	}
	for _, n := range nodes.Items {
		if _, ours := n.Annotations[v1alpha1.PausedAnnotation]; !ours && n.Annotations[changeover.FLUOPaused] == "true" {
			in.Paused = append(in.Paused, n.Name)
			if _, held := n.Labels[v1alpha1.HoldLabel]; !held {
				m.toHold = append(m.toHold, n.Name)
			}
		}
	}
	return objects, containers, nil
}
