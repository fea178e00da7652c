package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/changeover"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rebootmanager"
)

// migrateKured is `kubectl upgrade migrate kured` with its arguments.
type migrateKured struct {
	migration
	windows string
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
		RunE:              func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	m.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&m.schedule, "schedule", "kured", "Name of the MaintenanceSchedule.")
	flags.StringVar(&m.windows, "windows", "same", "same: open exactly when kured's window is; whole: a window over midnight belongs to the day on which it begins.")
	_ = cmd.RegisterFlagCompletionFunc("windows", cobra.FixedCompletions([]cobra.Completion{"same", "whole"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (m *migrateKured) run(ctx context.Context) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.windows != "same" && m.windows != "whole" {
		return fmt.Errorf("--windows=%s: must be same or whole", m.windows)
	}
	d, containers, err := m.find(ctx)
	if err != nil {
		return err
	}
	pod := d.Spec.Template.Spec
	if original, paused := changeover.OriginalSelector(d); paused {
		pod.NodeSelector = original
	}
	result := migrate.FromKured(migrate.Kured{
		Container: containers.read(ctx, d.Namespace, pod, kuredContainer(pod)), Placement: placement(pod),
		ScheduleName: m.schedule, Whole: m.windows == "whole", Now: m.now(),
	})
	return m.conclude(ctx, result, func(kube kubernetes.Interface) (changeover.Other, error) {
		return changeover.Other{
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

// clients returns clients for the cluster.
func (p *program) clients() (kubernetes.Interface, *reader, error) {
	reader, err := p.reader()
	if err != nil {
		return nil, nil, err
	}
	access, err := p.cluster.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	kube, err := kubernetes.NewForConfig(access)
	return kube, reader, err
}

// find returns kured's DaemonSet, from the file or from the cluster.
func (m *migrateKured) find(ctx context.Context) (*appsv1.DaemonSet, containerReader, error) {
	var containers containerReader
	var all []*appsv1.DaemonSet
	where := "on this cluster"
	if m.file != "" {
		where = "in " + displayName(m.file)
		objects, err := m.workloadsIn(m.file)
		if err != nil {
			return nil, containers, err
		}
		all = objects.daemonSets
	} else {
		kube, _, err := m.clients()
		if err != nil {
			return nil, containers, err
		}
		containers.core = kube.CoreV1()
		if all, err = daemonSetsOf(ctx, kube); err != nil {
			return nil, containers, err
		}
	}
	found := rebootmanager.Kured(all, nil)
	if len(found) == 0 {
		found = rebootmanager.LikeKured(all) // a manifest may be a part of one, and a person chooses
	}
	d, err := m.choose("kured", where, all, found)
	return d, containers, err
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
