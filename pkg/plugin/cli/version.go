package cli

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// versions is what `kubectl upgrade version -o json` prints.
type versions struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Plugin     string `json:"plugin"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	// TimeZones is the version of the plugin's time zone data.
	TimeZones string `json:"timeZones"`
	// Coordinator is the version of the coordinator that leads, or led last.
	Coordinator string `json:"coordinator,omitempty"`
	// CoordinatorTimeZones is the version of that one's time zone data.
	CoordinatorTimeZones string `json:"coordinatorTimeZones,omitempty"`
	// Agents counts the nodes by the version of their agents.
	Agents map[string]int `json:"agents,omitempty"`
}

func newVersion(p *program) *cobra.Command {
	out := output{nameless: "versions have no names"}
	var plugin bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The versions of this plugin, the coordinator and the agents",
		Long: `Shows the version of this plugin, and those that the coordinator and the agents have
reported. kubectl upgrade doctor says which of them do not fit together.`,
		Example: `  kubectl upgrade version
  kubectl upgrade version --client
  kubectl upgrade version -o jsonpath='{.coordinator}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{
				APIVersion: v1alpha1.OutputVersion, Kind: "UpgradeVersion",
				Plugin: p.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, TimeZones: schedule.ZoneVersion(),
			}
			var err error
			if !plugin {
				err = v.readCluster(cmd.Context(), p)
			}
			if !out.forPeople() {
				if err != nil {
					return err
				}
				return out.print(p, v)
			}
			v.write(p)
			if err != nil {
				return fmt.Errorf("%w; `kubectl upgrade version --client` asks no cluster", err)
			}
			return nil
		},
	}
	out.addTo(cmd)
	cmd.Flags().BoolVar(&plugin, "client", false, "Only the plugin's version; asks no cluster.")
	return cmd
}

// write writes the versions for people.
func (v versions) write(p *program) {
	fmt.Fprintf(p.Out, "plugin        %s (%s, %s, time zones %s)\n", v.Plugin, v.Go, v.Platform, v.TimeZones)
	if p.clusterName != "" {
		fmt.Fprintf(p.Out, "cluster       %s\n", p.clusterName)
	}
	switch {
	case v.Coordinator != "" && v.CoordinatorTimeZones != "":
		fmt.Fprintf(p.Out, "coordinator   %s (time zones %s)\n", v.Coordinator, v.CoordinatorTimeZones)
	case v.Coordinator != "":
		fmt.Fprintf(p.Out, "coordinator   %s\n", v.Coordinator)
	}
	for _, agent := range slices.Sorted(maps.Keys(v.Agents)) {
		fmt.Fprintf(p.Out, "agent         %s (nodes: %d)\n", agent, v.Agents[agent])
	}
}

// readCluster reads the versions that coordinator and agents have reported.
func (v *versions) readCluster(ctx context.Context, p *program) error {
	reader, err := p.reader()
	if err != nil {
		return err
	}
	list, err := reader.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading NodeUpgrades", err)
	}
	v.Agents = map[string]int{}
	for _, node := range list.Items {
		if node.Status.AgentVersion != "" {
			v.Agents[node.Status.AgentVersion]++
		}
	}
	policy, err := reader.policy(ctx)
	p.noteName(policy)
	if err != nil || policy == nil {
		return err
	}
	v.Coordinator, v.CoordinatorTimeZones = policy.Status.CoordinatorVersion, policy.Status.TimeZoneVersion
	return nil
}

// containerReader reads the command lines of containers, with the ConfigMaps that their
// variables come from. It reads no Secret.
type containerReader struct {
	core corev1client.CoreV1Interface // nil: offline
}

// read returns a container of a pod.
func (r containerReader) read(ctx context.Context, namespace string, pod corev1.PodSpec, c corev1.Container) migrate.Container {
	read := migrate.Container{Image: c.Image, Command: c.Command, Args: c.Args, HostPaths: map[string]string{}}
	for _, from := range c.EnvFrom {
		variables, unread := r.all(ctx, namespace, from)
		read.Variables = append(read.Variables, variables...)
		if unread != "" {
			read.Unread = append(read.Unread, unread)
		}
	}
	for _, v := range c.Env {
		read.Variables = append(read.Variables, r.one(ctx, namespace, v))
	}
	for _, mount := range c.VolumeMounts {
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name && volume.HostPath != nil {
				read.HostPaths[mount.MountPath] = volume.HostPath.Path
			}
		}
	}
	return read
}

// one returns a variable.
func (r containerReader) one(ctx context.Context, namespace string, v corev1.EnvVar) migrate.Variable {
	read := migrate.Variable{Name: v.Name, Value: v.Value}
	from := v.ValueFrom
	switch {
	case from == nil:
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := r.configMap(ctx, namespace, ref.Name)
		value, there := data[ref.Key]
		if read.Value = value; err != nil || !there {
			read.Unread = fmt.Sprintf("from key %s of ConfigMap %s/%s", ref.Key, namespace, ref.Name)
		}
	case from.SecretKeyRef != nil:
		read.Unread = fmt.Sprintf("from Secret %s/%s", namespace, from.SecretKeyRef.Name)
	case from.FieldRef != nil:
		read.Unread = "from the pod's " + from.FieldRef.FieldPath
	default:
		read.Unread = "from elsewhere"
	}
	return read
}

// all returns the variables of a ConfigMap, or what could not be read. Those of a Secret are not
// known, not even their names.
func (r containerReader) all(ctx context.Context, namespace string, from corev1.EnvFromSource) (variables []migrate.Variable, unread string) {
	switch {
	case from.SecretRef != nil:
		return nil, fmt.Sprintf("Secret %s/%s", namespace, from.SecretRef.Name)
	case from.ConfigMapRef == nil:
		return nil, ""
	}
	name, optional := from.ConfigMapRef.Name, from.ConfigMapRef.Optional
	data, err := r.configMap(ctx, namespace, name)
	if err != nil && (!apierrors.IsNotFound(err) || optional == nil || !*optional) {
		return nil, fmt.Sprintf("ConfigMap %s/%s", namespace, name)
	}
	for key, value := range data {
		variables = append(variables, migrate.Variable{Name: from.Prefix + key, Value: value})
	}
	return variables, ""
}

func (r containerReader) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	if r.core == nil {
		return nil, fmt.Errorf("ConfigMap %s/%s is on the cluster", namespace, name)
	}
	read, err := r.core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return read.Data, nil
}

// placement returns on which nodes the pods run.
func placement(pod corev1.PodSpec) migrate.Placement {
	p := migrate.Placement{NodeSelector: pod.NodeSelector}
	if a := pod.Affinity; a != nil {
		p.Affinity = a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	}
	for _, t := range pod.Tolerations {
		all := t.Key == "" && t.Operator == corev1.TolerationOpExists
		if all || t.Key == controlPlaneTaint {
			p.ControlPlane = true
		}
	}
	return p
}

// controlPlaneTaint is on the Nodes of the control plane, with kubeadm.
const controlPlaneTaint = "node-role.kubernetes.io/control-plane"
