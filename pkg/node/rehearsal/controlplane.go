package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

// components are the static pods that kubeadm writes.
var components = append(slices.Clone(host.ControlPlaneComponents), "etcd")

// controlPlane is what is known of a control plane whose upgrade is rehearsed.
type controlPlane struct {
	*rehearsing
	pulled  kubeadm.Pulled
	running map[string]*facts.StaticPod // the components that run on the node
	patches []host.File
	upgrade facts.Upgrade
	out     *v1alpha1.Rehearsal
}

// controlPlane rehearses what kubeadm would bring to a control plane once its container images are on the node: kubeadm of
// the image writes the static pods, and their programs read their arguments.
func (r *rehearsing) controlPlane(ctx context.Context, kubelet *facts.Kubelet, out *v1alpha1.Rehearsal) {
	c := controlPlane{rehearsing: r, running: map[string]*facts.StaticPod{}, out: out}
	for _, component := range components {
		if pod, err := kubelet.StaticPod(component); err == nil && pod != nil {
			c.running[component] = pod
		}
	}
	var err error
	if c.pulled, err = kubeadm.LastPulled(r.layout); err != nil {
		c.untried("the control plane: %v", err)
		return
	}
	apiserver := c.running["kube-apiserver"]
	if out.Version == r.running || c.pulled.Version != out.Version || apiserver == nil || clusterstate.ImageVersion(apiserver.Container().Image) == out.Version {
		return // nothing of it is to come
	}
	c.patches, c.upgrade = kubelet.Patches(), kubelet.Upgrade()
	next, refused, err := c.render(ctx, out.Version)
	switch {
	case err != nil:
		c.untried("the static pods that kubeadm of %s would write: %v", out.Version, err)
	case refused != nil:
		c.refused(ctx, refused)
	default:
		c.changes(ctx, next)
		c.start(ctx, next)
	}
	c.userConfig(ctx)
}

// refused adds that kubeadm of the version writes no static pods, if today's does: it is the trial that is wrong otherwise.
func (c *controlPlane) refused(ctx context.Context, why error) {
	if _, today, err := c.render(ctx, c.rehearsing.running); today != nil || err != nil {
		c.untried("the static pods that kubeadm of %s would write: %v", c.out.Version, why)
		return
	}
	c.problem(v1alpha1.KubeadmRefuses, v1alpha1.CauseVersion, "kubeadm of %s writes no static pods: %v", c.out.Version, why)
}

// start tries the start of each component that the upgrade touches.
func (c *controlPlane) start(ctx context.Context, next map[string]*facts.StaticPod) {
	_, without := exec.LookPath(runtimeProgram)
	if without != nil {
		c.untried("the programs of the control plane: %s, which comes with containerd, is not on the node", runtimeProgram)
	}
	for _, component := range components {
		pod := next[component]
		if pod == nil || component == "etcd" && c.upgrade.KeepsEtcd {
			continue
		}
		c.files(component, pod)
		if without == nil {
			c.program(ctx, component, pod)
		}
	}
	if without == nil && !c.keepsProxy() {
		c.proxy(ctx)
	}
}

// keepsProxy reports whether kubeadm leaves kube-proxy alone.
func (c *controlPlane) keepsProxy() bool {
	var config struct{ Proxy struct{ Disabled bool } }
	_ = yaml.Unmarshal([]byte(c.pulled.ClusterConfiguration), &config)
	return config.Proxy.Disabled || slices.ContainsFunc(c.upgrade.SkipPhases, func(phase string) bool { return phase == "addon" || phase == "addon/kube-proxy" })
}

func (c *controlPlane) problem(reason v1alpha1.ProblemReason, cause v1alpha1.RehearsalCause, format string, args ...any) {
	problem := v1alpha1.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
	c.out.Problems = append(c.out.Problems, v1alpha1.RehearsalProblem{Problem: problem, Cause: cause})
}

func (c *controlPlane) untried(format string, args ...any) {
	c.out.Untried = append(c.out.Untried, fmt.Sprintf(format, args...))
}

// render returns the static pods that kubeadm of a version would write on this node, or why it refuses.
func (c *controlPlane) render(ctx context.Context, version string) (pods map[string]*facts.StaticPod, refused, err error) {
	image, err := os.Open(c.layout.At(host.ImagePath(version, host.Architecture())))
	if err != nil {
		return nil, nil, fmt.Errorf("opening its image: %w", err)
	}
	defer func() { _ = image.Close() }()
	r := kubeadm.Rendering{Version: version, ClusterConfiguration: c.pulled.ClusterConfiguration, Patches: c.patches, NodeName: "node", Port: 6443}
	address, port := c.running["kube-apiserver"].Advertised()
	if r.Address = address; address == "" {
		return nil, nil, errors.New("kube-apiserver's pod has no annotation with its address")
	}
	if number, err := strconv.ParseInt(port, 10, 32); err == nil {
		r.Port = int32(number)
	}
	if etcd := c.running["etcd"]; etcd != nil { // no other component has the node's name
		r.NodeName = cmp.Or(etcd.Flag("name"), r.NodeName)
	}
	written, err := kubeadm.Render(ctx, image, r, c.log)
	var failed *host.ProgramFailure
	if errors.As(err, &failed) && failed.Exited {
		return nil, err, nil
	}
	pods = map[string]*facts.StaticPod{}
	for name, pod := range written {
		if one := facts.NewStaticPod(pod, name); one != nil {
			pods[name] = one
		}
	}
	return pods, nil, err
}

// changes collects what the upgrade would undo: what differs in a pod from what today's kubeadm writes, and from what the
// next one would. What the two of them write differently is no person's work.
func (c *controlPlane) changes(ctx context.Context, next map[string]*facts.StaticPod) {
	today, refused, err := c.render(ctx, c.rehearsing.running)
	if err = errors.Join(refused, err); err != nil {
		c.untried("what the upgrade would change of the static pods: kubeadm of %s: %v", c.rehearsing.running, err)
		return
	}
	for _, component := range components {
		running := c.running[component]
		if running == nil || today[component] == nil || next[component] == nil {
			continue
		}
		edited := differences(running, today[component])
		for _, change := range differences(running, next[component]) {
			if slices.Contains(edited, change) {
				c.out.Changes = append(c.out.Changes, component+": "+change)
			}
		}
	}
}

// userConfig lets kubeadm of the image read the UpgradeConfiguration of the node's administrators.
func (c *controlPlane) userConfig(ctx context.Context) {
	validate := func(version string) error {
		image, err := os.Open(c.layout.At(host.ImagePath(version, host.Architecture())))
		if err != nil {
			return fmt.Errorf("opening the image of %s: %w", version, err)
		}
		defer func() { _ = image.Close() }()
		return kubeadm.ValidateUserConfig(ctx, c.layout, image)
	}
	err := validate(c.out.Version)
	var failed *host.ProgramFailure
	switch {
	case errors.As(err, &failed) && failed.Exited:
		cause := v1alpha1.CauseVersion
		if errors.As(validate(c.rehearsing.running), &failed) {
			cause = v1alpha1.CauseNode
		}
		c.problem(v1alpha1.KubeadmRefuses, cause, "kubeadm of %s refuses %s: %v", c.out.Version, kubeadm.UserConfig, err)
	case err != nil:
		c.untried("%s: %v", kubeadm.UserConfig, err)
	}
}

// notFiles are flags that end as those of files do and name what the program makes itself.
var notFiles = []string{"log-file", "cert-dir"}

// namesFile reports whether a flag names a file that has to be there when the program starts.
func namesFile(flag string) bool {
	if slices.Contains(notFiles, flag) {
		return false
	}
	for _, end := range []string{"file", "config", "kubeconfig", "client-certificate", "client-key"} {
		if flag == end || strings.HasSuffix(flag, "-"+end) || strings.HasSuffix(flag, "-keyfile") || strings.HasSuffix(flag, "-certfile") || strings.HasSuffix(flag, "-cafile") {
			return true
		}
	}
	return false
}

// filesOf returns the paths on the node of the files that a pod's arguments name.
func filesOf(pod *facts.StaticPod) (paths []string) {
	for flag, values := range pod.Flags() {
		for _, path := range values {
			if namesFile(flag) && filepath.IsAbs(path) {
				paths = append(paths, pod.OnNode(path))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// files looks whether the files that a pod's arguments name are there, and in a volume of the pod. One that the running pod
// names, too, is in its image if no volume brings it.
func (c *controlPlane) files(component string, next *facts.StaticPod) {
	running := c.running[component]
	flags := next.Flags()
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		for _, path := range flags[flag] {
			if !namesFile(flag) || !filepath.IsAbs(path) || path == os.DevNull || next.IsMade(path) {
				continue
			}
			cause := v1alpha1.CauseVersion
			if running != nil && slices.Contains(running.Flags()[flag], path) {
				cause = v1alpha1.CauseNode
			}
			onNode := next.OnNode(path)
			switch {
			case !next.Mounts(path) && cause == v1alpha1.CauseVersion:
				c.problem(v1alpha1.FileMissing, cause, "%s would be started with --%s=%s, which no volume of the pod brings", component, flag, path)
			case next.Mounts(path) && !isFile(c.layout, onNode):
				c.missing = append(c.missing, onNode)
				c.problem(v1alpha1.FileMissing, cause, "%s would be started with --%s=%s, and %s is not on the node", component, flag, path, onNode)
			}
		}
	}
}

// differences returns what of a pod is not as in the one that takes its place, but for its image and what depends on when a
// member of etcd joined.
func differences(from, to *facts.StaticPod) (changes []string) {
	before, after := from.Flags(), to.Flags()
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(names)
	for _, flag := range slices.Compact(names) {
		if strings.HasPrefix(flag, "initial-cluster") || slices.Equal(before[flag], after[flag]) {
			continue
		}
		switch had, has := len(before[flag]) > 0, len(after[flag]) > 0; {
		case had && has:
			changes = append(changes, fmt.Sprintf("--%s=%s becomes %s", flag, strings.Join(before[flag], ","), strings.Join(after[flag], ",")))
		case had:
			changes = append(changes, fmt.Sprintf("--%s=%s is removed", flag, strings.Join(before[flag], ",")))
		default:
			changes = append(changes, fmt.Sprintf("--%s=%s is added", flag, strings.Join(after[flag], ",")))
		}
	}
	for _, part := range parts {
		if left, right := part.of(from), part.of(to); !equality.Semantic.DeepEqual(left, right) {
			changes = append(changes, part.name+" change")
		}
	}
	return changes
}

// parts are what a person may have changed in a pod beside its arguments.
var parts = []struct {
	name string
	of   func(*facts.StaticPod) any
}{
	{"environment variables", func(p *facts.StaticPod) any { return p.Container().Env }},
	{"volumes", func(p *facts.StaticPod) any {
		return slices.SortedFunc(slices.Values(p.Pod().Spec.Volumes), func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	}},
	{"mounts", func(p *facts.StaticPod) any {
		return slices.SortedFunc(slices.Values(p.Container().VolumeMounts), func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
	}},
	{"resources", func(p *facts.StaticPod) any { return p.Container().Resources }},
	{"probes", func(p *facts.StaticPod) any {
		c := p.Container()
		return []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
	}},
	{"other containers", func(p *facts.StaticPod) any {
		var others []corev1.Container
		for _, c := range slices.Concat(p.Pod().Spec.InitContainers, p.Pod().Spec.Containers) {
			if c.Name != p.Container().Name {
				others = append(others, c)
			}
		}
		return others
	}},
}
