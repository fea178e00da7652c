package facts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

func TestCgroup(t *testing.T) {
	for fileSystem, want := range map[int64]int32{unix.CGROUP2_SUPER_MAGIC: 2, unix.TMPFS_MAGIC: 1, unix.CGROUP_SUPER_MAGIC: 1} {
		if got := cgroupVersion(fileSystem); got != want {
			t.Errorf("%x: %d, want %d", fileSystem, got, want)
		}
	}
}

// base are the flags that the bakery's image gives by itself.
var base = []string{"bootstrap-kubeconfig", "config", "kubeconfig"}

// TestKubeletFlags has what pkg/node/host does not try with a real systemd (TestKubeletFlagsOfSystemd).
func TestKubeletFlags(t *testing.T) {
	none := tree{host.KubeletFlags: ""}
	tests := map[string]struct {
		files   tree
		kubelet service
		want    []string
		problem string
	}{
		"kubeadm's":        {tree{}, kubelet(), append([]string{"container-runtime-endpoint", "pod-infra-container-image"}, base...), ""},
		"none":             {none, kubelet(), base, ""},
		"sysconfig":        {tree{host.KubeletFlags: "", "/etc/sysconfig/kubelet": "# ours\nKUBELET_EXTRA_ARGS=--node-ip 10.0.0.1 -v=2\n"}, kubelet(), append([]string{"node-ip", "v"}, base...), ""},
		"default, unnamed": {tree{host.KubeletFlags: "", "/etc/default/kubelet": "KUBELET_EXTRA_ARGS=--node-ip=10.0.0.1\n"}, kubelet(), base, ""},
		"default, named": {tree{host.KubeletFlags: "", "/etc/default/kubelet": "KUBELET_EXTRA_ARGS=--node-ip=10.0.0.1\n"}, kubelet().reading("/etc/default/kubelet"),
			append([]string{"node-ip"}, base...), ""},
		"another variable": {tree{host.KubeletFlags: "", "/etc/sysconfig/kubelet": "OTHER=--node-ip=10.0.0.1\n"}, kubelet(), base, ""},
		"own drop-in":      {none, kubelet().setting(`KUBELET_EXTRA_ARGS=--register-with-taints="a=b:NoSchedule" --v 3`), append([]string{"register-with-taints", "v"}, base...), ""},
		"own command":      {tree{}, kubelet().started("/usr/bin/kubelet", "--config=/x", "--v=2", "${KUBELET_EXTRA_ARGS}"), []string{"config", "v"}, ""},
		"files go first": {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--a=1"}, kubelet().setting("KUBELET_KUBEADM_ARGS=--b=1"),
			append([]string{"a"}, base...), ""},
		"underscores":     {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--node_ip=10.0.0.1\n"}, kubelet(), append([]string{"node-ip"}, base...), ""},
		"feature gates":   {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS='--feature-gates=A=true, --feature-gates B=false,C=true --feature-gates='\n"}, kubelet(), append([]string{"feature-gates", "feature-gates.A", "feature-gates.B", "feature-gates.C"}, base...), ""},
		"no kubelet":      {tree{}, service{}, nil, ""},
		"not read anew":   {none, service{command: kubelet().command, changed: true}, nil, "systemctl daemon-reload"},
		"a file too long": {tree{host.KubeletFlags: strings.Repeat("#", largest+1)}, kubelet(), base, "at most"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gatherWith(t, test.files, services{"kubelet.service": test.kubelet})
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, facts.KubeletFlags); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, test.problem)
		})
	}
}

// TestKubeletFlagsOfProcess has kubelets that a script starts: no file says which flags it gives.
func TestKubeletFlagsOfProcess(t *testing.T) {
	script := kubelet().started("/opt/bin/start-kubelet.sh", "--v=9", "$KUBELET_KUBEADM_ARGS")
	const args = "/usr/bin/kubelet\x00--v=2\x00--container-runtime-endpoint\x00unix:///x\x00"
	tests := map[string]struct {
		files           tree
		kubelet         service
		want, elsewhere []string
	}{
		"it became the kubelet": {tree{"/proc/50/cmdline": args}, script.running(50), []string{"container-runtime-endpoint", "v"}, []string{"v"}},
		"the kubelet below it": {tree{"/proc/50/cmdline": "/bin/sh\x00/opt/bin/start-kubelet.sh\x00--v=9\x00", "/proc/51/cmdline": args, "/proc/51/stat": "51 (kubelet) S 50 50"},
			script.running(50), []string{"container-runtime-endpoint", "v"}, []string{"v"}},
		"it does not run":          {tree{}, script, []string{"container-runtime-endpoint", "pod-infra-container-image", "v"}, []string{"v"}},
		"the unit's program":       {tree{"/proc/50/cmdline": args}, kubelet().running(50), append([]string{"container-runtime-endpoint", "pod-infra-container-image"}, base...), base},
		"without systemd's answer": {tree{"/proc/50/cmdline": args, "/proc/50/cgroup": "0::/system.slice/kubelet.service"}, service{}, []string{"container-runtime-endpoint", "v"}, []string{"v"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gatherWith(t, test.files, services{kubeletUnit: test.kubelet})
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, facts.KubeletFlags); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.elsewhere, facts.KubeletFlagsElsewhere); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSystemdDoesNotAnswer checks that the other facts are collected.
func TestSystemdDoesNotAnswer(t *testing.T) {
	facts := newGatherer(ordinary().on(t), func(string) (service, error) { return service{}, errors.New("no systemd") }).forChecks(now)
	if len(facts.KubeletFlags) > 0 || len(facts.KubeletConfigFields) == 0 || len(facts.Disks) == 0 {
		t.Errorf("%+v", facts)
	}
	want := []string{"asking systemd how containerd.service is started: no systemd", "asking systemd how kubelet.service is started: no systemd"}
	if diff := cmp.Diff(want, facts.Problems); diff != "" {
		t.Error(diff)
	}
}

// kubeadm takes flags out of its own file, and out of no other.
func TestKubeletFlagsElsewhere(t *testing.T) {
	const pause, gate = "--pod-infra-container-image=x", "--feature-gates=A=true"
	tests := map[string]struct {
		files   tree
		kubelet service
		want    []string
	}{
		"only kubeadm's": {tree{}, kubelet(), base},
		"a file beside":  {tree{"/etc/sysconfig/kubelet": "KUBELET_EXTRA_ARGS=" + pause + "\n"}, kubelet(), append([]string{"pod-infra-container-image"}, base...)},
		"a drop-in": {tree{}, kubelet().setting("KUBELET_EXTRA_ARGS=" + pause + " " + gate),
			append([]string{"feature-gates", "feature-gates.A", "pod-infra-container-image"}, base...)},
		"the command":                {tree{}, kubelet().started("/usr/bin/kubelet", pause, "$KUBELET_KUBEADM_ARGS"), []string{"pod-infra-container-image"}},
		"overridden by kubeadm's":    {tree{}, kubelet().setting("KUBELET_KUBEADM_ARGS=" + pause), base},
		"overrides kubeadm's":        {tree{"/etc/sysconfig/kubelet": "KUBELET_KUBEADM_ARGS=" + pause + "\n"}, kubelet(), append([]string{"pod-infra-container-image"}, base...)},
		"by a pattern for its files": {tree{}, kubelet().reading("/var/lib/kubelet/*.env"), base},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, gatherWith(t, test.files, services{"kubelet.service": test.kubelet}).KubeletFlagsElsewhere); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What stands in the file that kubeadm writes anew does not count here.
func TestKubeletConfigElsewhere(t *testing.T) {
	const dropIns, patches = "/etc/kubernetes/kubelet.conf.d/", "/etc/kubernetes/patches/"
	no := false
	named := "kind: UpgradeConfiguration\napply: {patches: {directory: /etc/kubernetes/patches}}\nnode: {patches: {directory: /etc/kubernetes/patches}}\n"
	tests := map[string]struct {
		files  tree
		fields []string
		fail   *bool
	}{
		"kubeadm's file":    {tree{host.KubeletConfig: "failCgroupV1: false\nport: 1\n"}, nil, nil},
		"drop-ins":          {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--config-dir=" + dropIns, dropIns + "1.conf": "failCgroupV1: false\n"}, []string{"failCgroupV1"}, &no},
		"another file":      {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--config=/etc/k.yaml", "/etc/k.yaml": "failCgroupV1: false\n"}, []string{"failCgroupV1"}, &no},
		"a patch":           {tree{patches + "kubeletconfiguration0+merge.yaml": "failCgroupV1: false\n", kubeadm.UserConfig: named}, []string{"failCgroupV1"}, &no},
		"an unnamed patch":  {tree{patches + "kubeletconfiguration.yaml": "failCgroupV1: false\n"}, nil, nil},
		"a list of changes": {tree{patches + "kubeletconfiguration+json.json": "[{op: add, path: /port, value: 1}]\n", kubeadm.UserConfig: named}, nil, nil},
		"another patch":     {tree{patches + "etcd.yaml": "port: 1\n", kubeadm.UserConfig: named}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			if diff := cmp.Diff(test.fields, facts.KubeletConfigFieldsElsewhere); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.fail, facts.FailCgroupV1Elsewhere); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, "")
		})
	}
}

func TestKubeletConfig(t *testing.T) {
	const header = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
	const dropIns = "/etc/kubernetes/kubelet.conf.d/"
	dropInDir := "KUBELET_KUBEADM_ARGS=--config-dir=" + dropIns
	yes, no := true, false
	tests := map[string]struct {
		files   tree
		fields  []string
		fail    *bool
		problem string
	}{
		"fields":           {tree{host.KubeletConfig: header + "evictionHard: {memory.available: 1Mi}\nfeatureGates: {Alpha: true, Beta: false}\n"}, []string{"evictionHard", "featureGates", "featureGates.Alpha", "featureGates.Beta"}, nil, ""},
		"fails":            {tree{host.KubeletConfig: header + "failCgroupV1: true\n"}, []string{"failCgroupV1"}, &yes, ""},
		"does not fail":    {tree{host.KubeletConfig: header + "failCgroupV1: false\n"}, []string{"failCgroupV1"}, &no, ""},
		"not a truth":      {tree{host.KubeletConfig: "failCgroupV1: maybe\n"}, []string{"failCgroupV1"}, nil, "maybe"},
		"none":             {tree{host.KubeletConfig: ""}, nil, nil, ""},
		"not YAML":         {tree{host.KubeletConfig: "a: [\n"}, nil, nil, "reading " + host.KubeletConfig + ": decoding it"},
		"drop-in, unnamed": {tree{host.KubeletConfig: header, dropIns + "1.conf": "failCgroupV1: false\n"}, nil, nil, ""},
		"drop-in, named": {tree{host.KubeletFlags: dropInDir, host.KubeletConfig: header + "failCgroupV1: true\n",
			dropIns + "1.conf": header + "failCgroupV1: true\n", dropIns + "sub/2.conf": "failCgroupV1: false\nport: 1\n", dropIns + "3.yaml": "address: x\n"},
			[]string{"failCgroupV1", "port"}, &no, ""},
		"no drop-ins": {tree{host.KubeletFlags: dropInDir, host.KubeletConfig: header}, nil, nil, "no such file"},
		"elsewhere":   {tree{host.KubeletFlags: "KUBELET_KUBEADM_ARGS=--config=/etc/k.yaml", "/etc/k.yaml": "port: 1\n"}, []string{"port"}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			if diff := cmp.Diff(test.fields, facts.KubeletConfigFields); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.fail, facts.FailCgroupV1); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, test.problem)
		})
	}
}

// TestOwnAPIServer tells the kubelet that talks to its own node's kube-apiserver from one that may talk to
// another.
func TestOwnAPIServer(t *testing.T) {
	const spec = "kind: Pod\nspec: {containers: [{name: kube-apiserver}]}\n"
	const manifest = spec + "metadata: {annotations: {kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: '10.0.0.1:6443'}}\n"
	conf := func(server string) string { return "clusters: [{cluster: {server: '" + server + "'}}]\n" }
	for name, test := range map[string]struct {
		conf, manifest string
		want           bool
	}{
		"local mode":       {conf("https://10.0.0.1:6443"), manifest, true},
		"loopback":         {conf("https://127.0.0.1:6443"), manifest, true},
		"a load balancer":  {conf("https://api.example:6443"), manifest, false},
		"another node":     {conf("https://10.0.0.2:6443"), manifest, false},
		"another port":     {conf("https://10.0.0.1:443"), manifest, false},
		"a worker":         {conf("https://127.0.0.1:6443"), "", false},
		"two clusters":     {"clusters: [{cluster: {server: 'https://10.0.0.1:6443'}}, {cluster: {server: 'https://10.0.0.2:6443'}}]\n", manifest, false},
		"no annotation":    {conf("https://10.0.0.1:6443"), spec, false},
		"not a kubeconfig": {"[global\n", manifest, false},
		"not a manifest":   {conf("https://10.0.0.1:6443"), "[global\n", false},
		"a proxy":          {strings.Replace(conf("https://10.0.0.1:6443"), "server:", "proxy-url: 'http://p:3128', server:", 1), manifest, false},
		"IPv6":             {conf("https://[fd00::1]:6443"), spec + "metadata: {annotations: {kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: '[fd00::1]:6443'}}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, tree{"/etc/kubernetes/kubelet.conf": test.conf, host.ManifestsDir + "/kube-apiserver.yaml": test.manifest})
			if facts.OwnAPIServer != test.want {
				t.Errorf("got %t", facts.OwnAPIServer)
			}
		})
	}
}
