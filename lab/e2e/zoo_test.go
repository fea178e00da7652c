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
		words: "(?s)no agent answers.*" + clientCertificate,
	},
	{
		name: "first-merge-fails", public: "systemd#36409", patchOnly: true,
		make: "mkdir -p /etc/systemd/system/systemd-sysext.service.d; printf '[Service]\nExecStart=\nExecStart=/bin/false\n' >/etc/systemd/system/systemd-sysext.service.d/fails.conf; systemctl daemon-reload",
		undo: "rm -r /etc/systemd/system/systemd-sysext.service.d; systemctl daemon-reload",
	}, {
		name: "start-limit", public: "AgentBaker#9088", patchOnly: true,
		make: "mkdir -p /etc/systemd/system/kubelet.service.d; printf '[Unit]\nStartLimitIntervalSec=600\nStartLimitBurst=2\n[Service]\nRestartSec=1\n" +
			"ExecStartPre=/bin/sh -c \"echo >>/run/starts; test $$(wc -l </run/starts) -gt 2\"\n' >/etc/systemd/system/kubelet.service.d/limit.conf; echo 'x\nx\nx' >/run/starts; systemctl daemon-reload",
		undo: "rm /etc/systemd/system/kubelet.service.d/limit.conf; systemctl daemon-reload",
	},
	{name: "odd-manifest", public: "kubeadm#2823", make: "mkdir -p /etc/kubernetes/manifests; echo ': no manifest' >/etc/kubernetes/manifests/old.yaml", undo: "rm /etc/kubernetes/manifests/old.yaml"},
	{name: "masked", public: "Flatcar's guide for Docker", make: "ln -s /dev/null /etc/extensions/docker-flatcar.raw", undo: "rm /etc/extensions/docker-flatcar.raw"},
	{name: "folder", public: "systemd-sysext(8)", make: extension("/etc/extensions/tools", "ID=_any"), undo: "rm -r /etc/extensions/tools"},
	{name: "foreign", public: "systemd-sysext(8)", make: extension("/var/lib/extensions/foreign", "ID=other"), undo: "rm -r /var/lib/extensions/foreign"},
	{name: "kubelet-cgroups", public: "kubernetes#56850", make: dropIn("groups.conf", "kubeletCgroups: /systemd/system.slice"), undo: undoDropIn("groups.conf")},
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
		"systemctl restart kubelet; printf '%[3]s' >%[1]s/%[2]s", kubeletDropIns, name, file)
}

func undoDropIn(name string) string { return "rm " + kubeletDropIns + "/" + name }

// TestZoo upgrades and reboots nodes as people have them, w1 of one control plane and one worker. Such a node works, or is not
// touched and one sentence names the file, object or setting; and once a person has mended it, the upgrade goes on. FAULT_CASES
// is a regular expression that selects cases: `make e2e-zoo CASE=second-link`.
func TestZoo(t *testing.T) {
	selected, passed := regexp.MustCompile(env("FAULT_CASES", "")), passedCases(t)
	cases := slices.DeleteFunc(slices.Clone(zoo), func(s strange) bool { return !selected.MatchString(s.name) || passed[s.name] })
	if len(cases) == 0 {
		t.Logf("CASE=%s selects no case, or all have passed", selected)
		return
	}
	c := newCluster(t, 1, 1, "--update-engine")
	c.apply(t, scenario.OpenSchedule)
	patch := from
	for _, one := range cases {
		patch = nextPatch(t, patch)
		c.must(t)(c.Lab.Lab(c.ctx, "publish", patch, "--programs-of", from))
		t.Run(one.name, func(t *testing.T) { c.strangeNode(t, one, patch) })
	}
}

// strangeNode makes w1 strange, and has it rebooted and then patched.
func (c *testCluster) strangeNode(t *testing.T, s strange, patch string) {
	c.stopRecording()
	c.record()
	began := time.Now()
	var said []string
	defer func() {
		if !c.isVoid(t, began) {
			writeZooRow(t, s, strings.Join(said, "; "), time.Since(began))
		}
	}()
	c.must(t)(c.Exec(c.ctx, "w1", "sh", "-ec", s.make))
	mended := false
	mend := func() {
		if !mended {
			c.must(t)(c.Exec(c.ctx, "w1", "sh", "-ec", s.undo))
			mended = true
		}
	}
	for _, what := range []string{"type: Reboot", "version: " + patch} {
		kind, _, _ := strings.Cut(what, ":")
		name := s.name + "-" + kind
		if kind == "type" && s.patchOnly {
			continue
		}
		if kind == "type" {
			c.must(t)(c.Exec(c.ctx, "w1", "touch", "/run/reboot-required"))
		}
		boots := c.boots(t, "w1")
		c.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {%s, strategy: {settleSeconds: 5}}\n", name, what))
		if s.words != "" && (kind != "type" || !s.reboots) {
			said = append(said, c.awaitNamed(t, s.words))
			if now := c.boots(t, "w1"); now != boots {
				t.Errorf("w1 was rebooted: %d boots, and %d before", now, boots)
			}
			if kind == "version" { // mended for the Reboot, it would be none any more
				mend()
			} else {
				c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrade", name))
				c.must(t)(c.Exec(c.ctx, "w1", "rm", "/run/reboot-required"))
				continue
			}
		}
		c.eventually(t, 12*time.Minute, name+" has succeeded", func() error { return c.upgradeSucceeded(name) })
	}
	mend()
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// awaitNamed waits until the status of w1 says what is wrong with it, and returns that.
func (c *testCluster) awaitNamed(t *testing.T, words string) (said string) {
	t.Helper()
	pattern := regexp.MustCompile(words)
	c.eventually(t, 10*time.Minute, "w1 is held, and it is said why", func() error {
		u, err := c.ours.NodeUpgrades.Get(c.ctx, "w1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range u.Status.Conditions {
			if condition.Type == v1alpha1.ConditionAdmitted && pattern.MatchString(condition.Message) {
				said = condition.Reason + ": " + condition.Message
				return nil
			}
		}
		return fmt.Errorf("w1 is in step %s: %+v", u.Status.Step, u.Status.Conditions)
	})
	return said
}

const zooPage = `# Nodes as people have them

<!-- Written by the end-to-end tests: make e2e-zoo. -->

Each row is a case of ` + "`make e2e-zoo`" + `: a worker of the [lab](../README.md) is made as the public report or guide describes it, and is to be rebooted and patched. It has to work; or it must not be touched, one sentence must name the cause, and once a person has mended it the patch has to go on. Without a sentence, the node must work in silence. To repeat one case: ` + "`make e2e-zoo CASE=second-link`" + `.

| case | public report | what the status said | time | date |
| --- | --- | --- | --- | --- |
`

// writeZooRow writes the row of a case to the page that RELIABILITY names.
func writeZooRow(t *testing.T, s strange, said string, took time.Duration) {
	t.Helper()
	page := os.Getenv("RELIABILITY")
	if page == "" {
		return
	}
	switch {
	case t.Failed():
		said = "**failed** " + said
	case said == "":
		said = "worked in silence"
	}
	rows := readRows(t, page)
	rows[s.name] = fmt.Sprintf("| `%s` | %s | %s | %s | %s %s |\n", s.name, cell(s.public), cell(said), took.Round(time.Second), time.Now().UTC().Format(time.DateOnly), buildComment(t))
	text := zooPage
	var missing []string
	for _, one := range zoo {
		if row, ran := rows[one.name]; ran {
			text += row
		} else {
			missing = append(missing, one.name)
		}
	}
	if err := os.WriteFile(page, []byte(text+ofBuilds(rows)+withoutRow(missing)), 0o644); err != nil {
		t.Fatal(err)
	}
}
