package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func TestStaticPods(t *testing.T) {
	const dir = host.ManifestsDir
	apiserver := map[string]string{"kube-apiserver": "v1.34.3"}
	scheduler := manifest("kube-scheduler", "mirror:443/kube-scheduler:v1.34.2@sha256:00")
	both := map[string]string{"kube-apiserver": "v1.34.3", "kube-scheduler": "v1.34.2"}
	unknown := map[string]string{"kube-apiserver": "v1.34.3", "kube-scheduler": ""}
	elsewhere := "staticPodPath: /etc/pods\n"
	for name, test := range map[string]struct {
		files   tree
		want    map[string]string
		problem string
	}{
		"kubeadm's":              {tree{dir + "/kube-scheduler.yaml": scheduler}, both, ""},
		"a worker":               {tree{dir + "/kube-apiserver.yaml": ""}, map[string]string{}, ""},
		"another pod":            {tree{dir + "/vip.yaml": manifest("kube-vip", "x:v1")}, apiserver, ""},
		"no YAML":                {tree{dir + "/kube-scheduler.yaml": "a: [\n"}, unknown, "decoding " + dir + "/kube-scheduler.yaml"},
		"no containers":          {tree{dir + "/kube-scheduler.yaml": "kind: Pod\nspec: {}\n"}, unknown, dir + "/kube-scheduler.yaml is no manifest of a Pod with containers"},
		"another container":      {tree{dir + "/kube-scheduler.yaml": manifest("scheduler", "x:v1")}, unknown, dir + "/kube-scheduler.yaml has no container named kube-scheduler"},
		"of no kind":             {tree{dir + "/kube-scheduler.yaml": "spec: {containers: [{name: kube-scheduler}]}\n"}, unknown, "is no manifest of a Pod"},
		"a note":                 {tree{dir + "/README": "do not touch"}, apiserver, "decoding " + dir + "/README"},
		"a list of pods":         {tree{dir + "/all.yaml": "kind: List\nitems: []\n"}, apiserver, dir + "/all.yaml is no manifest"},
		"a backup":               {tree{dir + "/kube-apiserver.yaml.bak": manifest("kube-apiserver", "x:v1.33.0")}, apiserver, "kube-apiserver.yaml.bak both declare the pod kube-apiserver"},
		"a hidden backup":        {tree{dir + "/.kube-apiserver.yaml.swp": "x"}, apiserver, ""},
		"a folder":               {tree{dir + "/old/kube-apiserver.yaml": "a: [\n"}, apiserver, ""},
		"another folder":         {tree{host.KubeletConfig: elsewhere, "/etc/pods/kube-scheduler.yaml": scheduler, dir + "/kube-apiserver.yaml": ""}, map[string]string{"kube-scheduler": "v1.34.2"}, ""},
		"not kubeadm's folder":   {tree{host.KubeletConfig: elsewhere, "/etc/pods/kube-scheduler.yaml": scheduler}, map[string]string{"kube-scheduler": "v1.34.2"}, "the kubelet runs static pods from /etc/pods"},
		"by another name":        {tree{host.KubeletConfig: elsewhere, "/etc/pods": "-> kubernetes/manifests"}, apiserver, ""},
		"a link to nothing":      {tree{dir + "/kube-scheduler.yaml": "-> gone"}, apiserver, "reading " + dir + "/kube-scheduler.yaml: no such file"},
		"the folder, by a flag":  {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--pod-manifest-path=/etc/pods", "/etc/pods": "-> kubernetes/manifests"}, apiserver, ""},
		"a file that is too big": {tree{dir + "/big": string(make([]byte, largest+1))}, apiserver, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGatherer(with(test.files).on(t), services{kubeletUnit: kubelet()}.ask)
			facts := g.forChecks(now)
			if diff := cmp.Diff(test.want, g.tags); diff != "" {
				t.Error(diff)
			}
			if len(facts.KubeletFlags) == 0 || len(facts.Disks) == 0 || len(facts.Certificates) == 0 {
				t.Errorf("other facts are gone: %+v", facts)
			}
			wantProblem(t, facts, test.problem)
		})
	}
}

// TestOddManifest checks that a control plane stays one whatever stands in its manifests, and that
// only a node with an image has to have a kubelet.
func TestOddManifest(t *testing.T) {
	for _, text := range []string{manifest("kube-apiserver", "x:v1.34.3"), "a: [\n", "kind: Pod\n"} {
		g := newGatherer(with(tree{host.ManifestsDir + "/kube-apiserver.yaml": text, host.ManifestsDir + "/etcd.yaml": text}).on(t), services{}.ask)
		g.forChecks(now)
		found := verb.HostFacts{}
		g.ofOwnKubelet(t.Context(), &found)
		if _, there := found.StaticPods["kube-apiserver"]; !there || !found.ControlPlane || !found.EtcdMember || found.KubeletProblem != "the kubelet does not run" {
			t.Errorf("%q: %+v", text, found)
		}
		found = verb.HostFacts{Unsupported: &v1alpha1.Problem{}}
		if g.ofOwnKubelet(t.Context(), &found); found.KubeletProblem != "" {
			t.Errorf("without an image: %q", found.KubeletProblem)
		}
	}
}

// TestRunsStaticPod tells the processes of static pods from those of hosted control planes.
func TestRunsStaticPod(t *testing.T) {
	const hash, uuid, under = "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdef", "01234567_89ab_cdef_0123_456789abcdef"
	own := "metadata: {uid: " + uuid + "}\nkind: Pod\nspec: {containers: [{name: kube-apiserver}]}\n"
	for name, test := range map[string]struct {
		cgroup, manifest string
		want             bool
	}{
		"a static pod":            {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hash + ".slice/cri-containerd-1.scope\n", "", true},
		"by cgroupfs":             {"0::/kubepods/burstable/pod" + hash + "/1\n", "", true},
		"version 1":               {"3:cpu:/kubepods/burstable/pod" + hash + "/1\n2:pids:/kubepods/burstable/pod" + hash + "/1\n", "", true},
		"a hosted control plane":  {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-1.scope\n", "", false},
		"the same by cgroupfs":    {"0::/kubepods/pod" + uuid + "/1\n", "", false},
		"a cluster in a pod":      {"0::/kubepods.slice/kubepods-pod" + under + ".slice/cri-1.scope/kubelet.slice/kubepods-pod" + hash + ".slice/cri-2.scope\n", "", false},
		"the manifest has a UID":  {"0::/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-1.scope\n", own, true},
		"no groups of pods":       {"0::/k8s.io/1\n", "", true},
		"a component of podman's": {"0::/machine.slice/libpod-" + hash + hash + ".scope\n", "", true},
	} {
		files := tree{"/proc/9/cmdline": "kube-apiserver\x00", "/proc/9/cgroup": test.cgroup, host.ManifestsDir + "/kube-apiserver.yaml": test.manifest}
		k := files.find(t, service{})
		if got := k.RunsStaticPod("kube-apiserver"); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
		if k.RunsStaticPod("etcd") {
			t.Errorf("%s: etcd runs", name)
		}
	}
}

func TestPathsOfStaticPod(t *testing.T) {
	const pod = "kind: Pod\nspec:\n  containers: [{name: etcd, command: [etcd, --data-dir, /data/db, --name=a], args: ['--name=b'], volumeMounts: [" +
		"{name: all, mountPath: /data}, {name: db, mountPath: /data/db}, {name: sub, mountPath: /sub, subPath: x/y}, {name: tmp, mountPath: /tmp}]}]\n" +
		"  volumes: [{name: all, hostPath: {path: /srv}}, {name: db, hostPath: {path: /disk/etcd}}, {name: sub, hostPath: {path: /srv}}, {name: tmp, emptyDir: {}}]\n"
	p, err := tree{host.ManifestsDir + "/etcd.yaml": pod}.find(t, service{}).StaticPod("etcd")
	if err != nil {
		t.Fatal(err)
	}
	if p.Flag("data-dir") != "/data/db" || p.Flag("name") != "b" || p.Flag("none") != "" {
		t.Errorf("%v", p.flags)
	}
	for path, want := range map[string]string{
		"/data/db": "/disk/etcd", "/data/db/member": "/disk/etcd/member", "/data/dbx": "/srv/dbx", "/sub/z": "/srv/x/y/z", "/tmp/a": "/tmp/a", "/elsewhere": "/elsewhere",
	} {
		if got := p.OnNode(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestListens(t *testing.T) {
	for listen, want := range map[string]string{
		"": "",
		"https://10.0.0.1:2379,https://[::1]:12379":                   "https://[::1]:12379",
		"https://10.0.0.1:2379,https://10.0.0.2:2379":                 "https://10.0.0.1:2379",
		"https://10.0.0.1:2379,https://0.0.0.0:2380":                  "https://127.0.0.1:2380",
		"https://[::]:2380":                                           "https://[::1]:2380",
		"http://127.0.0.1:2379":                                       "http://127.0.0.1:2379",
		"unix://127.0.0.1:1,https://example.com:1,https://10.0.0.1:2": "https://10.0.0.1:2",
		"https://example.com:1":                                       "",
	} {
		if got := (&StaticPod{flags: flags{"f": {listen}}}).Listens("f"); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}
