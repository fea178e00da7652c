package facts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// StaticPod is a component that the kubelet runs from a file.
type StaticPod struct {
	pod       corev1.Pod
	container corev1.Container
	flags     flags
}

// ManifestsDir returns the folder of the kubelet's static pods.
func (k *Kubelet) ManifestsDir() string {
	return cmp.Or(k.flags.value("pod-manifest-path"), k.config.Values.StaticPodPath, host.ManifestsDir)
}

// Manifest returns the path of a component's manifest, under the name that kubeadm gives it.
func (k *Kubelet) Manifest(component string) string {
	return filepath.Join(k.ManifestsDir(), component+".yaml")
}

// HasManifest reports whether there is a manifest of the component, also one that cannot be
// understood.
func (k *Kubelet) HasManifest(component string) bool {
	_, err := os.Stat(k.g.At(k.Manifest(component)))
	return err == nil
}

// StaticPod reads the manifest of a component. It returns nil if there is none.
func (k *Kubelet) StaticPod(component string) (*StaticPod, error) {
	return k.StaticPodIn(k.ManifestsDir(), component)
}

// StaticPodIn reads the manifest of a component in a folder, also in one in which this kubelet does not look. It returns
// nil if there is none.
func (k *Kubelet) StaticPodIn(dir, component string) (*StaticPod, error) {
	path := filepath.Join(dir, component+".yaml")
	pod, err := k.g.readPod(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if found := NewStaticPod(pod, component); found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%s has no container named %s", path, component)
}

// NewStaticPod returns the component of a pod. Nil: the pod has no container of that name.
func NewStaticPod(pod *corev1.Pod, component string) *StaticPod {
	for _, c := range pod.Spec.Containers {
		if c.Name == component {
			return &StaticPod{pod: *pod, container: c, flags: parseFlags(slices.Concat(c.Command, c.Args))}
		}
	}
	return nil
}

// Pod returns the pod of the component.
func (p *StaticPod) Pod() corev1.Pod { return p.pod }

// Container returns the container of the component.
func (p *StaticPod) Container() corev1.Container { return p.container }

// Flags returns the flags of the component, each with its values.
func (p *StaticPod) Flags() map[string][]string { return p.flags }

// readPod reads a file of the folder of static pods as the kubelet does.
func (g *gatherer) readPod(path string) (*corev1.Pod, error) {
	text, err := g.read(path)
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", path, err)
	}
	if pod.Kind != "Pod" || len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("%s is no manifest of a Pod with containers, and the kubelet runs none from it", path)
	}
	return &pod, nil
}

// Flag returns the value of a flag in the command of the component.
func (p *StaticPod) Flag(name string) string { return p.flags.value(name) }

// OnNode returns the path on the node of a file or folder of the container.
func (p *StaticPod) OnNode(path string) string { return cmp.Or(p.mounted(path), path) }

// Advertised returns the address and the port of kube-apiserver that kubeadm keeps in an annotation of its pod. Empty: it has
// none.
func (p *StaticPod) Advertised() (address, port string) {
	address, port, err := net.SplitHostPort(p.pod.Annotations[advertised])
	if err != nil {
		return "", ""
	}
	return address, port
}

// IsMade reports whether the kubelet makes a file, or its folder, if it is not there.
func (p *StaticPod) IsMade(path string) bool {
	for _, m := range p.container.VolumeMounts {
		for _, v := range p.pod.Spec.Volumes {
			made := v.Name == m.Name && v.HostPath != nil && v.HostPath.Type != nil && *v.HostPath.Type == corev1.HostPathFileOrCreate
			if made && m.MountPath == path {
				return true
			}
		}
	}
	return false
}

// Mounts reports whether a file or folder of the container lies in a folder of the node.
func (p *StaticPod) Mounts(path string) bool { return p.mounted(path) != "" }

// mounted returns the path on the node; empty: it is in no volume of the node.
func (p *StaticPod) mounted(path string) string {
	mount, below := "", ""
	for _, m := range p.container.VolumeMounts {
		rest, err := filepath.Rel(m.MountPath, path)
		if err == nil && rest != ".." && !strings.HasPrefix(rest, "../") && len(m.MountPath) > len(mount) && p.hostPath(m.Name) != "" {
			mount, below = m.MountPath, filepath.Join(p.hostPath(m.Name), m.SubPath, rest)
		}
	}
	return below
}

// hostPath returns the path of a volume on the node; "" if it is of another kind.
func (p *StaticPod) hostPath(volume string) string {
	for _, v := range p.pod.Spec.Volumes {
		if v.Name == volume && v.HostPath != nil {
			return v.HostPath.Path
		}
	}
	return ""
}

// podOf matches the UID of a pod in the path of a control group, such as
// /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<UID>.slice or
// /kubepods/burstable/pod<UID>.
var podOf = regexp.MustCompile(`[/-]pod([0-9a-f]{8}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{12})`)

// ofStaticPod reports whether the process may belong to a static pod whose manifest has this
// UID, or none. Then the kubelet makes the UID of a hash, without dashes (applyDefaults in
// pkg/kubelet/config, v1.34), and a pod of the API server has a UUID. The outermost pod counts:
// a hosted control plane, and a cluster in a pod, run in pods of the API server. A process in no
// pod is taken for one: the kubelet may run without control groups of pods (cgroupsPerQOS).
func (p process) ofStaticPod(uid string) bool {
	found := podOf.FindStringSubmatch(p.cgroup)
	if found == nil {
		return true
	}
	is := strings.ReplaceAll(found[1], "_", "-")
	return is == uid || !strings.Contains(is, "-")
}

// RunsStaticPod reports whether the component has a process in a static pod of this kubelet.
func (k *Kubelet) RunsStaticPod(component string) bool { return k.processOf(component) != nil }

// processOf returns the component's process in a static pod of this kubelet, the first one if it has several. Nil: it
// has none.
func (k *Kubelet) processOf(component string) *process {
	uid := ""
	if pod, err := k.StaticPod(component); err == nil && pod != nil {
		uid = string(pod.pod.UID)
	}
	var first *process
	for i := range k.processes {
		p := &k.processes[i]
		if p.name == component && p.ofStaticPod(uid) && (first == nil || p.started < first.started) {
			first = p
		}
	}
	return first
}

// Listens returns where a program that listens at the addresses of a flag is asked: on the loopback interface, if it
// listens there, else at its first address. A member of etcd listens at addresses of its own node only. Empty: the flag
// has no address.
func (p *StaticPod) Listens(flag string) string {
	var first string
	for text := range strings.SplitSeq(p.Flag(flag), ",") {
		address, err := url.Parse(text)
		if err != nil || address.Scheme != "https" && address.Scheme != "http" {
			continue
		}
		ip := net.ParseIP(address.Hostname())
		switch {
		case ip == nil:
			continue
		case ip.IsUnspecified():
			loopback := "127.0.0.1"
			if ip.To4() == nil {
				loopback = "::1"
			}
			return address.Scheme + "://" + net.JoinHostPort(loopback, address.Port())
		case ip.IsLoopback():
			return text
		}
		first = cmp.Or(first, text)
	}
	return first
}

// staticPods collects the static pods, and the files in their folder that are none.
func (g *gatherer) staticPods() {
	dir := g.own.ManifestsDir()
	g.otherManifests(dir)
	g.tags = map[string]string{}
	for _, component := range host.ControlPlaneComponents {
		if !g.own.HasManifest(component) {
			continue
		}
		g.tags[component] = "" // until it is known
		pod, err := g.own.StaticPod(component)
		if err != nil {
			g.problem("%v", err)
		} else if pod != nil {
			g.tags[component] = clusterstate.ImageVersion(pod.container.Image)
		}
	}
	if _, err := os.Stat(g.At(host.ManifestsDir, "kube-apiserver.yaml")); err == nil && !g.sameDir(dir, host.ManifestsDir) {
		g.problem("the kubelet runs static pods from %s (staticPodPath), and kubeadm writes them to %s, where the kubelet does not see them", dir, host.ManifestsDir)
	}
}

// otherManifests adds a problem for each file that the kubelet passes over, and for each pod
// that it finds in two files, such as a backup: it starts both (kubeadm#2823).
func (g *gatherer) otherManifests(dir string) {
	files := map[string]string{}
	for _, name := range g.list(dir) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(g.At(path)); err == nil && info.IsDir() {
			continue
		}
		pod, err := g.readPod(path)
		if err != nil {
			g.problem("%v", err)
			continue
		}
		full := pod.Namespace + "/" + pod.Name
		if first := files[full]; first != "" {
			g.problem("%s and %s both declare the pod %s, and the kubelet starts both: move the one that is a backup out of %s", first, path, pod.Name, dir)
			continue
		}
		files[full] = path
		if component := strings.TrimSuffix(name, ".yaml"); component != "etcd" && !slices.Contains(host.ControlPlaneComponents, component) {
			g.others = append(g.others, *pod)
		}
	}
}
