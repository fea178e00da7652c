package rehearsal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
)

// apiserver returns a static pod with these arguments beside --secure-port.
func apiserver(args ...string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "kube-apiserver", Image: "registry/kube-apiserver:v1.34.4", Command: append([]string{"kube-apiserver", "--secure-port=6443"}, args...),
			VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/etc/kubernetes/pki"}},
		}},
		Volumes: []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/kubernetes/pki"}}}},
	}}
}

func component(pod *corev1.Pod) *facts.StaticPod { return facts.NewStaticPod(pod, "kube-apiserver") }

// TestDifferences checks what of a static pod counts as changed by a person.
func TestDifferences(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"":                                func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other:v1" },
		"--audit-log-path=- is removed":   func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"--audit-log-path=-"} },
		"--secure-port=8443 becomes 6443": func(p *corev1.Pod) { p.Spec.Containers[0].Command[1] = "--secure-port=8443" },
		"--secure-port=6443 is added":     func(p *corev1.Pod) { p.Spec.Containers[0].Command = p.Spec.Containers[0].Command[:1] },
		"environment variables change":    func(p *corev1.Pod) { p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HTTPS_PROXY"}} },
		"probes change":                   func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 3} },
		"other containers change":         func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "kms"}) },
		"mounts change":                   func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts[0].ReadOnly = true },
		"resources change": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		},
		"volumes change": func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "another"}) },
	} {
		pod := apiserver()
		change(pod)
		if got := strings.Join(differences(component(pod), component(apiserver())), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	member := apiserver("--initial-cluster=a,b", "--initial-cluster-state=existing")
	if got := differences(component(member), component(apiserver("--initial-cluster=a"))); got != nil {
		t.Errorf("a member that joined: %q", got)
	}
}

// TestFiles checks which files of the next pod's arguments are missed.
func TestFiles(t *testing.T) {
	const there, gone = "/etc/kubernetes/pki/there.crt", "/etc/kubernetes/pki/gone.crt"
	for want, args := range map[string][2][]string{
		"": {nil, {"--tls-cert-file=" + there, "--audit-log-path=/var/log/audit", "--cert-dir=/gone", "--log-file=/gone", "--egress-selector-config-file=/dev/null"}},
		"FileMissing Version: kube-apiserver would be started with --tls-cert-file=" + gone + ", and " + gone + " is not on the node":               {nil, {"--tls-cert-file=" + gone}},
		"FileMissing Node: kube-apiserver would be started with --client-ca-file=" + gone + ", and " + gone + " is not on the node":                 {{"--client-ca-file=" + gone}, {"--client-ca-file", gone}},
		"FileMissing Version: kube-apiserver would be started with --authentication-config=/etc/a.yaml, which no volume of the pod brings":          {nil, {"--authentication-config=/etc/a.yaml"}},
		"FileMissing Version: kube-apiserver would be started with --encryption-provider-config=/etc/b.yaml, which no volume of the pod brings":     {{"--encryption-provider-config=/etc/c.yaml"}, {"--encryption-provider-config=/etc/b.yaml"}},
		"FileMissing Version: kube-apiserver would be started with --etcd-certfile=/etc/kubernetes/pki, and /etc/kubernetes/pki is not on the node": {nil, {"--etcd-certfile=/etc/kubernetes/pki"}},
	} {
		c := controlPlane{
			rehearsing: &rehearsing{layout: tree(t, map[string]string{there: "", "/etc/c.yaml": ""})},
			running:    map[string]*facts.StaticPod{"kube-apiserver": component(apiserver(args[0]...))}, out: &v1alpha1.Rehearsal{},
		}
		c.files("kube-apiserver", component(apiserver(args[1]...)))
		got := ""
		for _, p := range c.out.Problems {
			got += string(p.Reason) + " " + string(p.Cause) + ": " + p.Message
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestProgramRefusals checks which lines of a program say that it does not take its arguments.
func TestProgramRefusals(t *testing.T) {
	for line, want := range map[string]bool{
		"Error: unknown flag: --cloud-provider":                                                  true,
		"flag provided but not defined: -experimental-initial-corrupt-check":                     true,
		"invalid argument \"X=true\" for \"--feature-gates\" flag: unrecognized feature gate: X": true,
		"invalid value \"abc\" for flag -snapshot-count: parse error":                            true,
		"Error: open /etc/kubernetes/pki/ca.crt: no such file or directory":                      false,
		"runtime: out of memory": false,
	} {
		if got := programRefusals.MatchString(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestProxyRefusals checks that a value of kube-proxy's ConfigMap holds although the version that runs refuses it, too.
func TestProxyRefusals(t *testing.T) {
	const invalid, flag = `failed validate: Mode: "userspace": must be iptables`, "unknown flag: --x"
	failed := errors.New("no such image")
	for name, test := range map[string]struct {
		refusal, same string
		err           error
		want          v1alpha1.Rehearsal
	}{
		"taken":                  {},
		"a value of the target":  {refusal: invalid, want: v1alpha1.Rehearsal{Problems: []v1alpha1.RehearsalProblem{{Cause: v1alpha1.CauseVersion}}}},
		"a value of both":        {refusal: invalid, same: invalid, want: v1alpha1.Rehearsal{Problems: []v1alpha1.RehearsalProblem{{Cause: v1alpha1.CauseNode}}}},
		"no value of the target": {refusal: flag, want: v1alpha1.Rehearsal{Problems: []v1alpha1.RehearsalProblem{{Cause: v1alpha1.CauseVersion}}}},
		"no value of both":       {refusal: flag, same: flag, want: v1alpha1.Rehearsal{Untried: []string{""}}},
		"not asked":              {err: failed, want: v1alpha1.Rehearsal{Untried: []string{""}}},
	} {
		c := controlPlane{out: &v1alpha1.Rehearsal{Version: "v1.34.4"}}
		c.judgeProxy(test.refusal, test.err, func() (string, error) { return test.same, nil })
		if len(c.out.Problems) != len(test.want.Problems) || len(c.out.Untried) != len(test.want.Untried) {
			t.Errorf("%s: %+v", name, c.out)
			continue
		}
		for i, problem := range c.out.Problems {
			if problem.Cause != test.want.Problems[i].Cause || !strings.Contains(problem.Message, test.refusal) {
				t.Errorf("%s: %+v", name, problem)
			}
		}
	}
}

// TestCopyProgram checks which file of an image is taken for the program: never one outside the image.
func TestCopyProgram(t *testing.T) {
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{filepath.Join(root, "usr/bin/etcd"): "program", secret: "secret"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(root, "usr/bin/kube-apiserver")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := copyProgram(&out, root, "etcd"); err != nil || out.String() != "program" {
		t.Errorf("%q, %v", &out, err)
	}
	out.Reset()
	if err := copyProgram(&out, root, "kube-apiserver"); err == nil || out.Len() > 0 {
		t.Errorf("a link out of the image: %q, %v", &out, err)
	}
	if err := copyProgram(&out, root, "kube-scheduler"); err == nil || !strings.Contains(err.Error(), "no program kube-scheduler") {
		t.Errorf("no program: %v", err)
	}
}

// TestFilesOf checks that the files of arguments are inputs of a rehearsal.
func TestFilesOf(t *testing.T) {
	got := filesOf(component(apiserver("--tls-cert-file=/etc/kubernetes/pki/a.crt", "--audit-policy-file=/etc/policy.yaml", "--v=2", "--kubeconfig=relative")))
	if diff := cmp.Diff([]string{"/etc/kubernetes/pki/a.crt", "/etc/policy.yaml"}, slices.Sorted(slices.Values(got))); diff != "" {
		t.Error(diff)
	}
}
