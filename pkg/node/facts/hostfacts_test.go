package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

func TestDisks(t *testing.T) {
	const image, member = host.ImagesDir + "/x.raw", host.EtcdDataDir + "/member/x"
	const etcd = "{kind: Pod, spec: {containers: [{name: etcd, command: [etcd, --data-dir, /data], volumeMounts: [{name: d, mountPath: /data}]}], volumes: [{name: d, hostPath: {path: /srv/db}}]}}"
	tests := map[string]struct {
		files      tree
		containerd service
		want       []string
	}{
		"all":                   {tree{image: "x", member: "x", "/var/lib/containerd/x": "x"}, service{}, []string{host.ImagesDir, "/etc/kubernetes", "/var/lib/containerd", host.EtcdDataDir + "/member", host.SnapshotsDir}},
		"etcd's data elsewhere": {tree{"/srv/db/member/x": "x", member: "x", "/etc/kubernetes/manifests/etcd.yaml": etcd}, service{}, []string{"/etc/kubernetes", "/srv/db/member", host.SnapshotsDir}},
		"etcd's data by a link": {tree{"/srv/disk/member/x": "x", "/srv/db": "-> disk", "/etc/kubernetes/manifests/etcd.yaml": etcd}, service{}, []string{"/etc/kubernetes", "/srv/db/member", host.SnapshotsDir}},
		"containerd's":          {tree{"/etc/containerd/config.toml": "version = 2\nroot = \"/data/c\" # big\n", "/data/c/x": "x"}, service{}, []string{"/etc/kubernetes", "/data/c", host.SnapshotsDir}},
		"a table's root":        {tree{"/etc/containerd/config.toml": "[plugins]\nroot = \"/data/c\"\n", "/data/c/x": "x"}, service{}, []string{"/etc/kubernetes", host.SnapshotsDir}},
		"config by flag": {tree{"/usr/share/c.toml": "root = '/data/c'\n", "/data/c/x": "x"},
			service{command: []string{"/usr/bin/containerd", "--config", "${CONTAINERD_CONFIG}"}, environment: []string{"CONTAINERD_CONFIG=/usr/share/c.toml"}},
			[]string{"/etc/kubernetes", "/data/c", host.SnapshotsDir}},
		"root by a flag":  {tree{"/data/c/x": "x"}, service{command: []string{"/usr/bin/containerd", "--root=/data/c"}}, []string{"/etc/kubernetes", "/data/c", host.SnapshotsDir}},
		"quoted keys":     {tree{"/etc/containerd/config.toml": "'version' = 3\n\"root\" = '/data/c'\n", "/data/c/x": "x"}, service{}, []string{"/etc/kubernetes", "/data/c", host.SnapshotsDir}},
		"a text of lines": {tree{"/etc/containerd/config.toml": "version = 3\ntemp = \"\"\"\nroot = '/data/x'\n\"\"\"\n", "/data/x/x": "x"}, service{}, []string{"/etc/kubernetes", host.SnapshotsDir}},
		"imported": {tree{"/etc/containerd/config.toml": "version = 3\nroot = '/data/a'\nimports = ['/etc/containerd/conf.d/*.toml', 'more.toml', '/gone/*.toml']\n", "/data/a/x": "x", "/data/b/x": "x", "/data/c/x": "x",
			"/etc/containerd/conf.d/1.toml": "root = '/data/b'\nimports = ['/etc/containerd/config.toml']\n", "/etc/containerd/more.toml": "root = '/data/c'\n", "/etc/containerd/conf.d/2.toml": "[grpc]\n"},
			service{}, []string{"/etc/kubernetes", "/data/c", host.SnapshotsDir}},
		"no snapshot yet": {tree{}, service{}, []string{"/etc/kubernetes", host.SnapshotsDir}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gatherWith(t, test.files, services{"containerd.service": test.containerd})
			var got []string
			for _, d := range facts.Disks {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, "")
		})
	}
}

// TestContainerdIsBroken checks that a configuration that cannot be understood is named, and what
// else is known counts.
func TestContainerdIsBroken(t *testing.T) {
	files := tree{"/etc/containerd/config.toml": "root = '/data/a'\nimports = ['b.toml']\n", "/etc/containerd/b.toml": "root = /data/b\n", "/data/a/x": "x"}
	facts := gather(t, files)
	wantProblem(t, facts, "decoding /etc/containerd/b.toml: ")
	if facts.Disks[1].Path != "/data/a" {
		t.Errorf("%+v", facts.Disks)
	}
}

func TestPatches(t *testing.T) {
	const dir, file = "/etc/kubernetes/patches", "/etc/kubernetes/patches/kube-apiserver0+merge.yaml"
	const apiserver = host.ManifestsDir + "/kube-apiserver.yaml"
	config := func(sections string) string {
		return "apiVersion: kubeadm.k8s.io/v1beta4\nkind: UpgradeConfiguration\n" + sections
	}
	both := config("apply: {patches: {directory: " + dir + "/}}\nnode: {patches: {directory: " + dir + "}}\n")
	nodeOnly := config("node: {patches: {directory: " + dir + "}}\n")
	tests := map[string]struct {
		files   tree
		want    string
		problem string
	}{
		"none":                  {tree{}, "", ""},
		"no config":             {tree{file: "{}"}, dir, ""},
		"named":                 {tree{file: "{}", kubeadm.UserConfig: both}, "", ""},
		"named in another part": {tree{file: "{}", kubeadm.UserConfig: "kind: ClusterConfiguration\n---\n" + both}, "", ""},
		"another named":         {tree{file: "{}", kubeadm.UserConfig: config("apply: {patches: {directory: /x}}\nnode: {patches: {directory: /x}}\n")}, dir, ""},
		"named for node alone":  {tree{file: "{}", kubeadm.UserConfig: nodeOnly}, dir, ""},
		"enough for a worker":   {tree{file: "{}", kubeadm.UserConfig: nodeOnly, apiserver: ""}, "", ""},
		"config says nothing":   {tree{file: "{}", kubeadm.UserConfig: config("apply: {}\n")}, dir, ""},
		"another kind":          {tree{file: "{}", kubeadm.UserConfig: "kind: InitConfiguration\nnode: {patches: {directory: " + dir + "}}\n"}, dir, ""},
		"config is broken":      {tree{file: "{}", kubeadm.UserConfig: "kind: [\n"}, dir, "decoding " + kubeadm.UserConfig},
		"another folder":        {tree{"/etc/kubernetes/own/etcd.json": "{}"}, "/etc/kubernetes/own", ""},
		"the usual one first":   {tree{"/etc/kubernetes/own/etcd.json": "{}", file: "{}", "/etc/kubernetes/zzz/etcd.json": "{}"}, dir, ""},
		"the other, unnamed":    {tree{"/etc/kubernetes/own/etcd.json": "{}", file: "{}", kubeadm.UserConfig: both}, "/etc/kubernetes/own", ""},
		"deeper":                {tree{"/etc/kubernetes/kubeadm/patches/etcd.json": "{}"}, "/etc/kubernetes/kubeadm/patches", ""},
		"deeper, and named":     {tree{"/etc/kubernetes/kubeadm/patches/etcd.json": "{}", kubeadm.UserConfig: strings.ReplaceAll(both, dir, "/etc/kubernetes/kubeadm/patches")}, "", ""},
		"too deep":              {tree{"/etc/kubernetes/a/b/c/etcd.json": "{}"}, "", ""},
		"kubeadm's folder":      {tree{"/etc/kubeadm/etcd.json": "{}"}, "/etc/kubeadm", ""},
		"below kubeadm's":       {tree{"/etc/kubeadm/patches/etcd.json": "{}"}, "/etc/kubeadm/patches", ""},
		"the usual name first":  {tree{"/etc/kubernetes/own/etcd.json": "{}", "/etc/kubeadm/patches/etcd.json": "{}"}, "/etc/kubeadm/patches", ""},
		"named by another name": {tree{file: "{}", "/etc/kubeadm/patches": "-> ../kubernetes/patches", kubeadm.UserConfig: both}, "", ""},
		"copies of manifests":   {tree{"/etc/kubernetes/backup/manifests/etcd.yaml": "x"}, "", ""},
		"no patches in it":      {tree{dir + "/README.md": "x", dir + "/kube-proxy.yaml": "x", dir + "/etcd+xml.yaml": "x"}, "", ""},
		"kubeadm's own folders": {tree{"/etc/kubernetes/tmp/etcd.yaml": "x", "/etc/kubernetes/pki/etcd.json": "x"}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			if facts.KubeadmPatches != test.want {
				t.Errorf("%q, want %q", facts.KubeadmPatches, test.want)
			}
			wantProblem(t, facts, test.problem)
		})
	}
}

func TestSysupdateDropIns(t *testing.T) {
	const service, timer = "systemd-sysupdate.service.d/kubernetes.conf", "systemd-sysupdate.timer.d/often.conf"
	tests := map[string]struct {
		files tree
		want  []string
	}{
		"none":            {tree{}, nil},
		"the new name":    {tree{"/etc/systemd/system/systemd-sysupdate-update.service.d/k.conf": "[Service]\n"}, []string{"/etc/systemd/system/systemd-sysupdate-update.service.d/k.conf"}},
		"both":            {tree{"/etc/systemd/system/" + service: "[Service]\n", "/run/systemd/system/" + timer: "[Timer]\n"}, []string{"/etc/systemd/system/" + service, "/run/systemd/system/" + timer}},
		"Flatcar's":       {tree{"/usr/lib/systemd/system/" + service: "[Service]\n"}, nil},
		"masked":          {tree{"/usr/lib/systemd/system/" + service: "[Service]\n", "/etc/systemd/system/" + service: "-> /dev/null"}, nil},
		"not read":        {tree{"/etc/systemd/system/systemd-sysupdate.timer.d/README": "x"}, nil},
		"of another unit": {tree{"/etc/systemd/system/kubelet.service.d/20.conf": "[Service]\n"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			if diff := cmp.Diff(test.want, facts.SysupdateTimerDropIns); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSysupdateUnits checks a node of systemd 262, where a mask of the timer's former name masks
// nothing, and where a socket may merge images.
func TestSysupdateUnits(t *testing.T) {
	const lib, etc, timer = "/usr/lib/systemd/system/", "/etc/systemd/system/", "systemd-sysupdate-update.timer"
	const former, socket = "systemd-sysupdate.timer", "systemd-sysupdate-notify-sysext.socket"
	for name, test := range map[string]struct {
		files            tree
		unmasked, socket string
	}{
		"systemd 257, masked":       {tree{etc + former: "-> /dev/null"}, "", ""},
		"not masked":                {tree{lib + timer: "[Timer]\n", etc + "timers.target.wants/" + timer: "-> " + lib + timer}, "", ""},
		"former name masked":        {tree{lib + timer: "[Timer]\n", etc + former: "-> /dev/null", etc + "timers.target.wants/" + timer: "-> " + lib + timer}, timer, ""},
		"former name, not enabled":  {tree{lib + timer: "[Timer]\n", etc + former: "-> /dev/null"}, "", ""},
		"both masked":               {tree{lib + timer: "[Timer]\n", etc + former: "-> /dev/null", etc + timer: "-> /dev/null", etc + "timers.target.wants/" + timer: "-> " + lib + timer}, "", ""},
		"socket, disabled":          {tree{lib + socket: "[Socket]\n"}, "", "disabled"},
		"socket, enabled by a link": {tree{lib + socket: "[Socket]\n", etc + "sockets.target.wants/" + socket: "-> " + lib + socket}, "", "enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, test.files)
			if facts.SysupdateTimerUnmasked != test.unmasked || facts.SysextRefreshSocket != test.socket {
				t.Errorf("timer %q, socket %q; want %q, %q", facts.SysupdateTimerUnmasked, facts.SysextRefreshSocket, test.unmasked, test.socket)
			}
		})
	}
}

func TestLocksmithd(t *testing.T) {
	const ours, etc = "/usr/lib/systemd/system/locksmithd.service", "/etc/systemd/system/"
	tests := map[string]struct {
		files tree
		want  string
	}{
		"not there":       {tree{}, ""},
		"disabled":        {tree{ours: "[Service]\n"}, "disabled"},
		"Flatcar's own":   {tree{ours: "[Service]\n", "/usr/lib/systemd/system/multi-user.target.wants/locksmithd.service": "-> ../locksmithd.service"}, "enabled"},
		"enabled":         {tree{ours: "[Service]\n", etc + "multi-user.target.wants/locksmithd.service": "-> " + ours}, "enabled"},
		"masked":          {tree{ours: "[Service]\n", "/usr/lib/systemd/system/multi-user.target.wants/locksmithd.service": "-> ../locksmithd.service", etc + "locksmithd.service": "-> /dev/null"}, "masked"},
		"masked for once": {tree{ours: "[Service]\n", "/run/systemd/system/locksmithd.service": "-> /dev/null"}, "masked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := gather(t, test.files).Locksmithd; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestRefreshBlockers(t *testing.T) {
	const root, merged = "1 0 254:0 / / rw - ext4 /dev/vda rw\n", "2 1 0:40 / /usr ro - overlay sysext ro\n"
	tests := map[string]struct {
		mounts string
		want   []string
	}{
		"merged":               {root + merged, nil},
		"both hierarchies":     {root + merged + "3 1 0:41 / /opt ro - overlay sysext ro\n", nil},
		"a partition at /usr":  {root + "2 1 254:1 / /usr ro - btrfs /dev/vda3 ro\n3 2 0:40 / /usr ro - overlay sysext ro\n", nil},
		"below /usr":           {root + merged + "3 2 0:5 / /usr/lib/locale rw shared:1 - tmpfs tmpfs rw\n", []string{"/usr/lib/locale"}},
		"below a partition":    {root + "2 1 254:1 / /usr ro - btrfs x ro\n3 2 0:40 / /usr ro - overlay sysext ro\n4 3 0:5 / /usr/lib/locale rw - tmpfs tmpfs rw\n", []string{"/usr/lib/locale"}},
		"one within another":   {root + merged + "3 2 0:5 / /usr/a rw - tmpfs t rw\n4 3 0:6 / /usr/a/b rw - tmpfs t rw\n", []string{"/usr/a", "/usr/a/b"}},
		"one upon another":     {root + merged + "3 2 0:5 / /usr/a rw - tmpfs t rw\n4 3 0:6 / /usr/a rw - tmpfs t rw\n", []string{"/usr/a"}},
		"below /opt, unmerged": {root + merged + "3 1 8:1 / /opt/data rw - ext4 /dev/sdb rw\n", []string{"/opt/data"}},
		"a disk at /opt":       {root + merged + "3 1 8:1 / /opt rw - ext4 /dev/sdb rw\n", nil},
		"hidden by the merge":  {root + "3 1 0:5 / /usr/lib/locale rw - tmpfs tmpfs rw\n" + merged, nil},
		"below what is hidden": {root + "3 1 0:5 / /usr/a rw - tmpfs t rw\n4 3 0:6 / /usr/a/b rw - tmpfs t rw\n" + merged, nil},
		"systemd's own":        {root + merged + "3 2 0:40 /.systemd-sysext /usr/.systemd-sysext ro - overlay sysext ro\n", nil},
		"names that begin so":  {root + merged + "3 1 0:5 / /usrlocal rw - tmpfs t rw\n4 1 0:6 / /optional/x rw - tmpfs t rw\n", nil},
		"elsewhere":            {root + merged + "3 1 0:5 / /var/lib/kubelet/pods/usr/x rw - tmpfs t rw\n", nil},
		"white space":          {root + merged + `3 2 0:5 / /usr/my\040dir rw - tmpfs t rw` + "\n", []string{"/usr/my dir"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := gather(t, tree{mountsFile: test.mounts})
			if diff := cmp.Diff(test.want, facts.RefreshBlockers); diff != "" {
				t.Error(diff)
			}
			wantProblem(t, facts, "")
		})
	}
	facts := gather(t, tree{mountsFile: root + merged + "3 2\n"})
	if len(facts.RefreshBlockers) > 0 {
		t.Errorf("cut off: %q", facts.RefreshBlockers)
	}
	wantProblem(t, facts, "reading the node's mounts from "+mountsFile)
}
