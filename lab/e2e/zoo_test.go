//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// strange is a node as people really have them.
type strange struct {
	name   string
	public string // the public report, or the guide that says so
	// make is a shell script that makes w1 such a node, and undo one that a person runs to mend it. They run as root on w1.
	make, undo string
	// words is a regular expression of what the status says of w1 until then. Empty: the upgrade goes through in silence.
	words string
	// reboots reports whether a plain Reboot of such a node goes through: only another version would not come up.
	reboots bool
	// help is a regular expression of what the guard does at the boot with the patch. Empty: nothing.
	help string
	// patchOnly leaves out the Reboot, for which there is no guard: no rehearsal can see what goes wrong at that boot.
	patchOnly bool
}

// zoo are the nodes of `make e2e-zoo`. The last ones must work in silence.
var zoo = []strange{
	{
		name: "no-image", public: "systemd#32762",
		make: "echo text >/etc/extensions/other.raw", undo: "rm /etc/extensions/other.raw",
		words: "/etc/extensions/other.raw: Failed to read metadata",
	}, {
		name: "second-link", public: "sysext-bakery#140",
		make: "ln -s $(readlink /etc/extensions/kubernetes.raw) /etc/extensions/kubernetes-v1.34.raw", undo: "rm /etc/extensions/kubernetes-v1.34.raw",
		words: "/etc/extensions/kubernetes-v1.34.raw: Failed to read metadata",
	}, {
		name: "nested-mounts", public: "Flatcar#2111",
		make: "mkdir -p /opt/data; " + mountUnit("opt-data", "/opt/data") + mountUnit("opt-data-inner", "/opt/data/inner") +
			"systemctl daemon-reload; systemctl start opt-data.mount; mkdir -p /opt/data/inner; systemctl start opt-data-inner.mount",
		undo:  "systemctl stop opt-data-inner.mount opt-data.mount; rm /etc/systemd/system/opt-data*.mount; systemctl daemon-reload",
		words: "/opt/data and /opt/data/inner",
	}, {
		name: "opt-extension", public: "Flatcar#1448",
		make: extension("/etc/extensions/kata", "ID=_any") + "mkdir -p /etc/extensions/kata/opt/kata", undo: "rm -r /etc/extensions/kata",
		words: `read-only.*\(kata\)`,
	}, {
		name: "kubelet-in-opt", public: "KubeOne, and Kubernetes' page on Flatcar",
		make: "mkdir -p /opt/bin; cp /usr/bin/kubelet /opt/bin/; sed s,/usr/bin/kubelet,/opt/bin/kubelet,g /usr/lib/systemd/system/kubelet.service >/etc/systemd/system/kubelet.service; " +
			"mkdir -p /etc/systemd/system/kubelet.service.d; for f in /usr/lib/systemd/system/kubelet.service.d/*.conf; do [ -e $f ] && sed s,/usr/bin/kubelet,/opt/bin/kubelet,g $f >/etc/systemd/system/kubelet.service.d/$(basename $f); done; " +
			"systemctl daemon-reload; systemctl restart kubelet",
		undo:  "rm -r /opt/bin /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d; systemctl daemon-reload; systemctl restart kubelet",
		words: "starts /opt/bin/kubelet", reboots: true,
	}, {
		name: "unknown-field", public: "kubernetes#125265",
		make:  dropIn("bad.conf", "maxPods: -5"),
		undo:  undoDropIn("bad.conf"),
		words: "refuses.*maxPods",
	}, {
		name: "no-client-ca", public: "kubeadm#2823",
		make: "mv /etc/kubernetes/pki/ca.crt /etc/kubernetes/pki/ca.crt.old", undo: "mv /etc/kubernetes/pki/ca.crt.old /etc/kubernetes/pki/ca.crt",
		words: "unable to load client CA file",
	},
	{
		name: "empty-certificate", public: "kubernetes#34956",
		make:  "f=$(readlink -f " + clientCertificate + "); cp -p $f $f.kept; : >$f",
		undo:  "f=$(readlink -f " + clientCertificate + "); mv $f.kept $f",
		words: clientCertificate,
	},
	{
		name: "first-merge-fails", public: "systemd#36409", patchOnly: true, help: "one more merge",
		make: "mkdir -p /etc/systemd/system/systemd-sysext.service.d; printf '[Service]\nExecStart=\nExecStart=/bin/false\n' >/etc/systemd/system/systemd-sysext.service.d/fails.conf; systemctl daemon-reload",
		undo: "rm -r /etc/systemd/system/systemd-sysext.service.d; systemctl daemon-reload",
	}, {
		name: "start-limit", public: "AgentBaker#9088", patchOnly: true, help: "one more start of kubelet.service",
		make: "mkdir -p /etc/systemd/system/kubelet.service.d; printf '[Unit]\nStartLimitIntervalSec=600\nStartLimitBurst=2\n[Service]\nRestartSec=1\n" +
			"ExecStartPre=/bin/sh -c \"echo >>/run/starts; test $$(wc -l </run/starts) -gt 2\"\n' >/etc/systemd/system/kubelet.service.d/limit.conf; echo 'x\nx\nx' >/run/starts; systemctl daemon-reload",
		undo: "rm /etc/systemd/system/kubelet.service.d/limit.conf; systemctl daemon-reload",
	},
	{name: "odd-manifest", public: "kubeadm#2823", make: "mkdir -p /etc/kubernetes/manifests; echo ': no manifest' >/etc/kubernetes/manifests/old.yaml", undo: "rm /etc/kubernetes/manifests/old.yaml"},
	{name: "masked", public: "Flatcar's guide for Docker", make: "ln -s /dev/null /etc/extensions/docker-flatcar.raw", undo: "rm /etc/extensions/docker-flatcar.raw"},
	{name: "folder", public: "systemd-sysext(8)", make: extension("/etc/extensions/tools", "ID=_any"), undo: "rm -r /etc/extensions/tools"},
	{name: "foreign", public: "systemd-sysext(8)", make: extension("/var/lib/extensions/foreign", "ID=other"), undo: "rm -r /var/lib/extensions/foreign"},
	{name: "kubelet-cgroups", public: "kubernetes#56850", make: dropIn("groups.conf", "kubeletCgroups: /systemd/system.slice"), undo: undoDropIn("groups.conf")},
	{
		name: "admin-certificate", public: "kubeadm#2352",
		make:  "cp -p /etc/kubernetes/kubelet.conf /etc/kubernetes/kubelet.conf.kept; admin >/etc/kubernetes/kubelet.conf; systemctl restart kubelet",
		undo:  "cat /etc/kubernetes/kubelet.conf.kept >/etc/kubernetes/kubelet.conf; rm /etc/kubernetes/kubelet.conf.kept; systemctl restart kubelet",
		words: `has the identity .*kubernetes-`,
	}, {
		name: "cert-dir", public: "kubernetes#53288",
		make: "cp -a /var/lib/kubelet/pki /var/lib/kubelet/certificates; ln -sfn $(basename $(readlink /var/lib/kubelet/pki/kubelet-client-current.pem)) /var/lib/kubelet/certificates/kubelet-client-current.pem; " +
			"sed -i s,/var/lib/kubelet/pki,/var/lib/kubelet/certificates,g /etc/kubernetes/kubelet.conf; " + extraFlags("--cert-dir=/var/lib/kubelet/certificates") + "systemctl restart kubelet",
		undo: "sed -i s,/var/lib/kubelet/certificates,/var/lib/kubelet/pki,g /etc/kubernetes/kubelet.conf; " + undoExtraFlags +
			"; systemctl restart kubelet; rm -r /var/lib/kubelet/certificates",
		words: "/var/lib/kubelet/certificates",
	},
	{name: "removed-flag", public: "kubespray#8924", make: extraFlags("--network-plugin=cni"), undo: undoExtraFlags, words: "network-plugin"},
	{name: "removed-gate", public: "eks-anywhere-build-tooling#2891", make: extraFlags("--feature-gates=KubeletCredentialProviders=true"), undo: undoExtraFlags, words: "KubeletCredentialProviders"},
	{
		name: "kubelet-masked", public: "SUSE/skuba#161",
		make: "ln -s /dev/null /etc/systemd/system/kubelet.service; systemctl daemon-reload", undo: "rm /etc/systemd/system/kubelet.service; systemctl daemon-reload",
		words: "kubelet.service",
	}, {
		name: "containerd-configuration", public: "Flatcar's guide for containerd",
		make: "mkdir -p /etc/systemd/system/containerd.service.d; printf '[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config /etc/containerd/own.toml\n' >/etc/systemd/system/containerd.service.d/own.conf; systemctl daemon-reload",
		undo: "rm /etc/systemd/system/containerd.service.d/own.conf; systemctl daemon-reload", words: "/etc/containerd/own.toml",
	},
	{
		name: "containerd-imports", public: "containerd#7982",
		make: "mkdir -p /etc/containerd/conf.d; printf 'version = 2\n[debug]\nlevel = \"info\"\n' >/etc/containerd/conf.d/debug.toml; cp /etc/containerd/config.toml /etc/containerd/config.toml.kept; " +
			`{ echo 'imports = ["/etc/containerd/conf.d/*.toml"]'; grep -v ^imports /etc/containerd/config.toml.kept; } >/etc/containerd/config.toml`,
		undo: "mv /etc/containerd/config.toml.kept /etc/containerd/config.toml; rm -r /etc/containerd/conf.d",
	},
	{name: "moved-health-port", public: "kubespray#5403", make: dropIn("health.conf", "healthzPort: 10348"), undo: undoDropIn("health.conf")},
	{
		name: "wrapper", public: "CoreOS' kubelet-wrapper",
		make: "mkdir -p /etc/kubelet /etc/systemd/system/kubelet.service.d; printf '#!/bin/sh\nexec /usr/bin/kubelet \"$@\"\n' >/etc/kubelet/wrapper; chmod +x /etc/kubelet/wrapper; " +
			"{ echo [Service]; echo ExecStart=; cat /usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kubelet.service.d/*.conf | grep ^ExecStart=/ | tail -1 | sed s,/usr/bin/kubelet,/etc/kubelet/wrapper,; } >/etc/systemd/system/kubelet.service.d/zz-wrapper.conf; " +
			"systemctl daemon-reload; systemctl restart kubelet",
		undo: "rm -r /etc/kubelet /etc/systemd/system/kubelet.service.d; systemctl daemon-reload",
	},
	{name: "other-release", public: "fedora-sysexts#125", make: extension("/var/lib/extensions/semanage", "'ID=_any\nARCHITECTURE=s390x'"), undo: "rm -r /var/lib/extensions/semanage"},
	{
		name: "changing-extension", public: "sysext-bakery's update timers",
		make: extension("/etc/extensions/tools", "ID=_any") + "mkdir -p /etc/extensions/tools/usr/share/tools; systemd-run --quiet --unit=changing sh -c 'while :; do date >/etc/extensions/tools/usr/share/tools/$(date +%N); sleep 3; done'",
		undo: "systemctl stop changing.service 2>/dev/null || true; rm -r /etc/extensions/tools",
	},
	{name: "no-health-port", public: "kubernetes#125265", make: dropIn("health.conf", "healthzPort: 0"), undo: undoDropIn("health.conf")},
}

// mountUnit writes a unit that mounts a file system at a path.
func mountUnit(name, path string) string {
	return fmt.Sprintf("printf '[Unit]\\nBefore=systemd-sysext.service local-fs.target\\n[Mount]\\nWhat=tmpfs\\nWhere=%[2]s\\nType=tmpfs\\n[Install]\\nWantedBy=local-fs.target\\n' >/etc/systemd/system/%[1]s.mount; ", name, path)
}

// extension makes a folder that is an extension for an operating system.
func extension(path, release string) string {
	name := path[strings.LastIndex(path, "/")+1:]
	return fmt.Sprintf("mkdir -p %[1]s/usr/lib/extension-release.d; echo %[2]s >%[1]s/usr/lib/extension-release.d/extension-release.%[3]s; ", path, release, name)
}

const clientCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"

const kubeletDropIns = "/etc/kubernetes/kubelet.conf.d"

// dropIn adds a file to the kubelet's configuration. The kubelet that runs gets a folder for such files first, and reads this
// one only when it is started again.
func dropIn(name, text string) string {
	file := "apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: KubeletConfiguration\\n" + text + "\\n"
	return fmt.Sprintf("mkdir -p %[1]s; grep -q config-dir /var/lib/kubelet/kubeadm-flags.env || sed -i 's,\"$, --config-dir=%[1]s\",' /var/lib/kubelet/kubeadm-flags.env; "+
		"systemctl restart kubelet; sleep 10; printf '%[3]s' >%[1]s/%[2]s", kubeletDropIns, name, file)
}

func undoDropIn(name string) string { return "rm " + kubeletDropIns + "/" + name }

// zooWorkers is how many strange nodes are upgraded at a time.
const zooWorkers = 4

// zooNode is a worker that is one of the strange nodes.
type zooNode struct {
	strange
	node   string
	said   []string // by the status
	mended bool
	failed bool
}

// extraFlags adds flags to the kubelet, which reads them when it is started again.
func extraFlags(flags string) string {
	return fmt.Sprintf("mkdir -p /etc/sysconfig; if [ -e %[1]s ]; then cp -p %[1]s %[1]s.kept; fi; echo KUBELET_EXTRA_ARGS=%[2]s >%[1]s; ", kubeletDefaults, flags)
}

const undoExtraFlags = "rm -f " + kubeletDefaults + "; if [ -e " + kubeletDefaults + ".kept ]; then mv " + kubeletDefaults + ".kept " + kubeletDefaults + "; fi"

// TestZoo upgrades and reboots nodes as people have them, four workers at a time, each strange in its own way. Such a node
// works, or is not touched and one sentence names the file, object or setting; and once a person has mended it, the upgrade
// goes on. FAULT_CASES is a regular expression that selects cases: `make e2e-zoo CASE=second-link`.
func TestZoo(t *testing.T) {
	selected, passed := regexp.MustCompile(env("FAULT_CASES", "")), passedCases(t)
	cases := slices.DeleteFunc(slices.Clone(zoo), func(s strange) bool { return !selected.MatchString(s.name) || passed[s.name] })
	if len(cases) == 0 {
		t.Logf("CASE=%s selects no case, or all have passed", selected)
		return
	}
	c := newCluster(t, 1, min(zooWorkers, len(cases)), "--update-engine")
	c.apply(t, scenario.OpenSchedule)
	patch := from
	for batch := range slices.Chunk(cases, zooWorkers) {
		patch = nextPatch(t, patch)
		c.must(t)(c.Lab.Lab(c.ctx, "publish", patch, "--programs-of", from))
		nodes := make([]*zooNode, len(batch))
		for i, one := range batch {
			nodes[i] = &zooNode{strange: one, node: fmt.Sprintf("w%d", i+1)}
		}
		if !t.Run(patch, func(t *testing.T) { c.strangeNodes(t, nodes, patch) }) {
			return // the next ones would begin with what these left
		}
	}
}

// strangeNodes makes the nodes strange, and has them rebooted and then patched.
func (c *testCluster) strangeNodes(t *testing.T, nodes []*zooNode, patch string) {
	c.stopRecording()
	c.record()
	began := time.Now()
	defer func() {
		if !c.isVoid(t, began) {
			writeZooRows(t, nodes)
		}
	}()
	rebooted := slices.DeleteFunc(slices.Clone(nodes), func(n *zooNode) bool { return n.patchOnly })
	c.makeStrange(t, rebooted)
	for _, n := range rebooted {
		c.must(t)(c.Exec(c.ctx, n.node, "touch", "/run/reboot-required"))
	}
	c.zooTurn(t, rebooted, "reboot-"+strings.ReplaceAll(patch, ".", "-"), "type: Reboot", func(n *zooNode) bool { return n.words != "" && !n.reboots })
	c.makeStrange(t, slices.DeleteFunc(slices.Clone(nodes), func(n *zooNode) bool { return !n.patchOnly }))
	c.zooTurn(t, nodes, "patch-"+strings.ReplaceAll(patch, ".", "-"), "version: "+patch, func(n *zooNode) bool { return n.words != "" })
	for _, n := range nodes {
		c.mend(t, n)
	}
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// makeStrange makes each node what its case says. A script may use the function admin, which prints the administrator's
// kubeconfig.
func (c *testCluster) makeStrange(t *testing.T, nodes []*zooNode) {
	t.Helper()
	for _, n := range nodes {
		t.Logf("%s becomes %s (%s)", n.node, n.name, n.public)
		c.onNodes(t, n.make, n.node)
	}
}

// mend does once what a person would do.
func (c *testCluster) mend(t *testing.T, n *zooNode) {
	t.Helper()
	if !n.mended {
		c.must(t)(c.Exec(c.ctx, n.node, "sh", "-ec", n.undo))
		n.mended = true
	}
}

// zooTurn waits until each node has had its turn in an upgrade, or is held, as held says. For a patch, nodes that are held
// are mended, and then have their turn; for a Reboot, they would be strange no more.
func (c *testCluster) zooTurn(t *testing.T, nodes []*zooNode, name, what string, held func(*zooNode) bool) {
	if len(nodes) == 0 {
		return
	}
	boots := map[string]int{}
	for _, n := range nodes {
		boots[n.node] = c.boots(t, n.node)
	}
	c.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {%s, strategy: {settleSeconds: 5}}\n", name, what))
	kind, _, _ := strings.Cut(name, "-")
	each := func(held func(*zooNode) bool, check func(*testing.T, *zooNode)) (any bool) {
		for _, n := range nodes {
			if held(n) {
				any = true
				n.failed = !t.Run(n.name+" "+kind, func(t *testing.T) { check(t, n) }) || n.failed
			}
		}
		return any
	}
	anyHeld := each(held, func(t *testing.T, n *zooNode) {
		n.said = append(n.said, c.awaitNamed(t, n.node, n.words))
		if now := c.boots(t, n.node); now != boots[n.node] {
			t.Errorf("%s was rebooted: %d boots, and %d before", n.node, now, boots[n.node])
		}
		if kind == "patch" {
			c.mend(t, n)
		}
	})
	each(func(n *zooNode) bool { return kind == "patch" || !held(n) }, func(t *testing.T, n *zooNode) {
		c.eventually(t, 20*time.Minute, n.node+" had its turn", func() error { return c.hadTurn(n.node, name) })
		c.checkComparison(t, n, kind == "patch")
	})
	if kind == "patch" || !anyHeld {
		c.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return c.upgradeSucceeded(name) })
		return
	}
	c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrade", name))
	for _, n := range nodes {
		c.must(t)(c.Exec(c.ctx, n.node, "rm", "-f", "/run/reboot-required"))
	}
}

// hadTurn returns an error unless the node is done with that upgrade.
func (c *testCluster) hadTurn(node, upgrade string) error {
	u, err := c.ours.NodeUpgrades.Get(c.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	reason, message := u.Status.Explain()
	if u.Status.Upgrade == nil || u.Status.Upgrade.Name != upgrade || u.Status.Step != v1alpha1.StepIdle || reason != v1alpha1.ReasonUpToDate {
		return fmt.Errorf("%s is in step %s: %s: %s", node, u.Status.Step, reason, message)
	}
	return nil
}

// checkComparison checks what the status says of the node's boot, beside its rehearsal: it came up, and as expected with the
// guard's help. Only a rehearsal that could not try a part may have missed that.
func (c *testCluster) checkComparison(t *testing.T, n *zooNode, patch bool) {
	t.Helper()
	u, err := c.ours.NodeUpgrades.Get(c.ctx, n.node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := u.Status.Rehearsal
	helped := got != nil && got.Boot == v1alpha1.BootAssisted && regexp.MustCompile(n.help).MatchString(got.Message)
	switch {
	case got == nil || got.Result == v1alpha1.RehearsalFailed:
		t.Errorf("the boot of %s was compared as %+v", n.node, got)
	case patch && n.help != "" && !helped, (!patch || n.help == "") && got.Boot != v1alpha1.BootUp:
		t.Errorf("the boot of %s was compared as %+v, want help %q", n.node, got, n.help)
	case helped:
		n.said = append(n.said, got.String())
	}
}

// awaitNamed waits until the status of the node says what is wrong with it, and returns that.
func (c *testCluster) awaitNamed(t *testing.T, node, words string) (said string) {
	t.Helper()
	pattern := regexp.MustCompile(words)
	c.eventually(t, 15*time.Minute, node+" is held, and it is said why", func() error {
		u, err := c.ours.NodeUpgrades.Get(c.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range u.Status.Conditions {
			if condition.Type == v1alpha1.ConditionAdmitted && pattern.MatchString(condition.Message) {
				said = condition.Reason + ": " + condition.Message
				return nil
			}
		}
		return fmt.Errorf("%s is in step %s: %+v", node, u.Status.Step, u.Status.Conditions)
	})
	return said
}

const zooPage = `# Nodes as people have them

<!-- Written by the end-to-end tests: make e2e-zoo. -->

Each row is a case of ` + "`make e2e-zoo`" + `: a worker of the [lab](../README.md) is made as the public report or guide describes it, and is to be rebooted and patched. It has to work; or it must not be touched, one sentence must name the cause, and once a person has mended it the patch has to go on. Without a sentence, the node must work in silence. To repeat one case: ` + "`make e2e-zoo CASE=second-link`" + `.

| case | public report | what the status said | date |
| --- | --- | --- | --- |
`

// writeZooRows writes the rows of the nodes to the page that RELIABILITY names.
func writeZooRows(t *testing.T, nodes []*zooNode) {
	t.Helper()
	var names []string
	for _, one := range zoo {
		names = append(names, one.name)
	}
	var results []strangeResult
	for _, n := range nodes {
		results = append(results, strangeResult{n.name, n.public, n.said, n.failed})
	}
	writeStrange(t, zooPage, names, results)
}

// strangeResult is what came of a strange node or cluster.
type strangeResult struct {
	name, public string
	said         []string
	failed       bool
}

// writeStrange adds the rows of results to the page that RELIABILITY names. Page is its beginning, and names are its cases.
func writeStrange(t *testing.T, page string, names []string, results []strangeResult) {
	t.Helper()
	path := os.Getenv("RELIABILITY")
	if path == "" {
		return
	}
	rows := readRows(t, path)
	for _, r := range results {
		said := strings.Join(slices.Compact(r.said), "; ")
		switch {
		case r.failed:
			said = "**failed** " + said
		case said == "":
			said = "worked in silence"
		}
		rows[r.name] = fmt.Sprintf("| `%s` | %s | %s | %s %s |\n", r.name, cell(r.public), cell(said), time.Now().UTC().Format(time.DateOnly), buildComment(t))
	}
	var missing []string
	for _, name := range names {
		if row, ran := rows[name]; ran {
			page += row
		} else {
			missing = append(missing, name)
		}
	}
	if err := os.WriteFile(path, []byte(page+ofBuilds(rows)+withoutRow(missing)), 0o644); err != nil {
		t.Fatal(err)
	}
}
