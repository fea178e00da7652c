//go:build integration

package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// within is the longest that the verb may take, with a rehearsal: it runs every few minutes on every node.
const within = 10 * time.Second

func nodeFacts(t *testing.T, c *host.Client, changes <-chan host.Change, key string) v1alpha1.NodeFacts {
	t.Helper()
	asked := time.Now()
	start(t, c, request(t, verb.Facts, key, nil), verb.Options{})
	result := finish(t, c, changes, verb.Facts)
	t.Logf("the verb took %s, asked for and answered in %s", result.FinishedAt.Sub(result.StartedAt), time.Since(asked))
	if took := result.FinishedAt.Sub(result.StartedAt); took > within {
		t.Errorf("the verb took %s", took)
	}
	var facts verb.HostFacts
	if err := result.Decode(&facts); err != nil {
		t.Fatal(err)
	}
	return facts.Node
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

func TestNodeFacts(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	put(t, "/etc/systemd/system/kubelet.service", "[Service]\nEnvironmentFile=-"+host.KubeletFlags+"\nExecStart=/usr/bin/kubelet $KUBELET_KUBEADM_ARGS\n")
	put(t, host.KubeletFlags, "KUBELET_KUBEADM_ARGS=\"--pod-infra-container-image=pause\"\n")
	put(t, host.KubeletConfig, "failCgroupV1: false\n")
	run(t, "systemctl", "daemon-reload")
	facts := nodeFacts(t, c, changes, "facts")
	var st unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &st); err != nil {
		t.Fatal(err)
	}
	if unified := st.Type == unix.CGROUP2_SUPER_MAGIC; unified != (facts.CgroupVersion == 2) || facts.CgroupVersion == 0 {
		t.Errorf("version of control groups: %d", facts.CgroupVersion)
	}
	if !slices.Equal(facts.KubeletFlags, []string{"pod-infra-container-image"}) || facts.FailCgroupV1 == nil || *facts.FailCgroupV1 {
		t.Errorf("%+v", facts)
	}
	if !slices.ContainsFunc(facts.Disks, func(d v1alpha1.DiskFacts) bool { return d.Path == host.ImagesDir && d.FreeBytes > 0 }) {
		t.Errorf("%+v", facts.Disks)
	}
	if len(facts.Problems) > 0 {
		t.Errorf("problems: %q", facts.Problems)
	}
}

// TestKubeletFlagsOfSystemd checks that the flags that the verb finds are those that systemd gives to the kubelet, which is a
// script here that writes its arguments.
func TestKubeletFlagsOfSystemd(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	const lib, etc, env, got = "/run/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service", "/etc/sysconfig/kubelet", "/run/kubelet-arguments"
	put(t, "/run/kubelet", "printf '%s\\0' \"$@\" >"+got+"\n")
	const command = "ExecStart=/bin/sh /run/kubelet "
	const bakery = "[Service]\nEnvironment=\"CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml --kubeconfig=/x\"\nEnvironmentFile=-" + host.KubeletFlags +
		"\nEnvironmentFile=-" + env + "\nExecStart=\n" + command + "$CONFIG_ARGS $KUBEADM_ARGS $EXTRA_ARGS\n"
	for name, files := range map[string]map[string]string{
		"bakery's":              {},
		"masked":                {etc: "-> /dev/null"},
		"masked drop-in":        {etc + ".d/10-kubeadm.conf": "-> /dev/null"},
		"replaced drop-in":      {etc + ".d/10-kubeadm.conf": "[Service]\nExecStart=\n" + command + "--v=2\n"},
		"another section":       {etc + ".d/20-own.conf": "[Unit]\nEnvironment=EXTRA_ARGS=--v=2\n"},
		"files are dropped":     {etc + ".d/20-own.conf": "[Service]\nEnvironmentFile=\n", env: "EXTRA_ARGS=--a\n"},
		"files by a pattern":    {etc + ".d/20-own.conf": "[Service]\nEnvironmentFile=-/etc/sysconfig/kub*\n", env: "EXTRA_ARGS=--a\n"},
		"a file that is needed": {etc + ".d/20-own.conf": "[Service]\nEnvironmentFile=" + env + "\n", env: "EXTRA_ARGS=--a\n"},
		"a file goes first":     {etc + ".d/20-own.conf": "[Service]\nEnvironment=EXTRA_ARGS=--b\n", env: "EXTRA_ARGS=--a\n"},
		"a long line":           {etc + ".d/20-own.conf": "[Service]\nEnvironment=EXTRA_ARGS=--v=" + strings.Repeat("1", 1<<14) + "\n"},
		"not a setting":         {etc + ".d/20-own.conf": "[Service]\nEXTRA_ARGS\nEnvironment=EXTRA_ARGS=--v=2\n"},
		"comment within":        {etc + ".d/20-own.conf": "[Service]\n# as it was: \\\nExecStart=\nExecStart=\n" + command + "\\\n  # --a=1\n  --v=2\n"},
		"quotes":                {etc + ".d/20-own.conf": "[Service]\nExecStart=\n" + command + `"--a=b c" '--d=e f' --g="h i" "$CONFIG_ARGS"` + "\n"},
		"escapes":               {etc + ".d/20-own.conf": "[Service]\nExecStart=\n" + command + `--a=b\x20c --d=\"e $$CONFIG_ARGS` + "\n"},
		"variables in words":    {etc + ".d/20-own.conf": "[Service]\nEnvironment=V=2 'W=--w x'\nExecStart=\n" + command + "--v=${V} ${W} ${NONE} $NONE --y=$V\n"},
		"specifiers":            {etc + ".d/20-own.conf": "[Service]\nEnvironment=\"EXTRA_ARGS=--unit=%n --percent=%%\"\nExecStart=\n" + command + "--n=%N $EXTRA_ARGS\n"},
		"two assignments":       {etc + ".d/20-own.conf": "[Service]\nEnvironment=A=--a 'EXTRA_ARGS=--b --c'\nEnvironment=\"KUBEADM_ARGS=--d\"\n"},
		"an empty environment":  {etc + ".d/20-own.conf": "[Service]\nEnvironment=\n"},
		"quotes in a file":      {env: "EXTRA_ARGS=\"--a='b c' --d\"\n"},
		"single ones":           {env: "EXTRA_ARGS='--a=\"b c\" --d'\n"},
		"quotes within":         {env: "EXTRA_ARGS=--a=\"b c\" --d='e f'\n"},
		"quote that is open":    {env: "EXTRA_ARGS=--a='b --c\n"},
		"quote, open at first":  {env: "EXTRA_ARGS='--a=b\n --c'\nOTHER=--d\n"},
		"two quoted":            {env: "EXTRA_ARGS=\"--a \"'--b'\n"},
		"a continued line":      {env: "EXTRA_ARGS=--a \\\n  --b\n"},
		"continued in quotes":   {env: "EXTRA_ARGS=\"--a \\\n --b\"\n"},
		"comments":              {env: "# EXTRA_ARGS=--a\n; EXTRA_ARGS=--b\n  # c\nEXTRA_ARGS=--d # --e\n"},
		"white space":           {env: "  EXTRA_ARGS  =  --a  --b  \n"},
		"not assignments":       {env: "export EXTRA_ARGS=--a\nEXTRA_ARGS --b\n=--c\n"},
		"twice":                 {env: "EXTRA_ARGS=--a\nEXTRA_ARGS=--b\n"},
		"emptied":               {env: "CONFIG_ARGS=\n"},
		"a backslash":           {env: "EXTRA_ARGS=--a=b\\c --d\\\\e\n"},
		"a variable in a file":  {env: "EXTRA_ARGS=--a=$CONFIG_ARGS\n"},
		"carriage returns":      {env: "EXTRA_ARGS=--a\r\nOTHER=--b\r\n"},
		"no newline":            {env: "EXTRA_ARGS=--a"},
		"escapes in quotes":     {env: "EXTRA_ARGS=\"--a\\$b --c\\d --e\\`f --g=\\\"h\\\" \"\n"},
		"escapes in single":     {env: "EXTRA_ARGS='--a\\$b --c'\n"},
		"text after quotes":     {env: "EXTRA_ARGS=\"--a \"--b '--c'\n"},
		"text before quotes":    {env: "EXTRA_ARGS=--a \"--b\"\n"},
		"a white space escaped": {env: "EXTRA_ARGS=--a=b\\ \nOTHER=--c\n"},
		"a backslash at last":   {env: "EXTRA_ARGS=--a\\"},
		"a continued comment":   {env: "# a \\\nEXTRA_ARGS=--a\nEXTRA_ARGS=--b\n"},
		"no value":              {env: "EXTRA_ARGS=\n"},
		"no assignment at last": {env: "EXTRA_ARGS=--a\nCONFIG_ARGS"},
		"a number as a name":    {env: "1EXTRA_ARGS=--a\n EXTRA_ARGS=--b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, lib, "[Service]\nType=oneshot\n"+command+"\n")
			put(t, lib+".d/10-kubeadm.conf", bakery)
			put(t, host.KubeletFlags, "KUBEADM_ARGS=\"--pod-infra-container-image=pause\"\n")
			for path, text := range files {
				if target, link := strings.CutPrefix(text, "-> "); link {
					put(t, path, "")
					run(t, "ln", "-sf", target, path)
				} else {
					put(t, path, text)
				}
			}
			_ = os.Remove(got)
			run(t, "systemctl", "daemon-reload")
			_ = exec.CommandContext(t.Context(), "systemctl", "start", "kubelet.service").Run() // it may be masked
			arguments, _ := os.ReadFile(got)
			var want []string
			for argument := range strings.SplitSeq(string(arguments), "\x00") {
				if name, _, _ := strings.Cut(argument, "="); strings.HasPrefix(name, "-") {
					want = append(want, strings.TrimLeft(name, "-"))
				}
			}
			slices.Sort(want)
			facts := nodeFacts(t, c, changes, name)
			if found := facts.KubeletFlags; !slices.Equal(found, want) || len(facts.Problems) > 0 {
				t.Errorf("found %q with the problems %q; systemd gave %q", found, facts.Problems, arguments)
			}
		})
	}
	put(t, etc, "[Service]\nType=oneshot\nRemainAfterExit=yes\n"+command+"\n")
	run(t, "systemctl", "daemon-reload")
	run(t, "systemctl", "start", "kubelet.service")
	put(t, etc+".d/30-late.conf", "[Service]\nEnvironment=EXTRA_ARGS=--late\n")
	if facts := nodeFacts(t, c, changes, "late"); len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0], "daemon-reload") {
		t.Errorf("problems of a drop-in that systemd has not read: %q", facts.Problems)
	}
}

// TestRefreshBlockers checks that mounts below the merged file system block a refresh, and that
// itself does not. What a refresh does to such a mount depends on systemd's version, and is
// logged.
func TestRefreshBlockers(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	if facts := nodeFacts(t, c, changes, "unmerged"); len(facts.RefreshBlockers) > 0 {
		t.Errorf("unmerged: %v", facts.RefreshBlockers)
	}
	if err := os.Rename(host.Link, "/etc/kubernetes.raw"); err != nil { // no real image
		t.Fatal(err)
	}
	defer func() { _ = os.Rename("/etc/kubernetes.raw", host.Link) }()
	put(t, "/run/extensions/x/usr/lib/extension-release.d/extension-release.x", "ID=_any\n")
	run(t, "systemd-sysext", "merge")
	defer run(t, "systemd-sysext", "unmerge")
	if facts := nodeFacts(t, c, changes, "merged"); len(facts.RefreshBlockers) > 0 {
		t.Errorf("merged: %v", facts.RefreshBlockers)
	}

	const point = "/usr/share/doc"
	run(t, "mount", "-t", "tmpfs", "tmpfs", point)
	defer func() { _ = unix.Unmount(point, unix.MNT_DETACH) }()
	if facts := nodeFacts(t, c, changes, "mounted"); !slices.Equal(facts.RefreshBlockers, []string{point}) {
		t.Errorf("mounted: %v", facts.RefreshBlockers)
	}
	refresh := func() {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "systemd-sysext", "refresh").CombinedOutput()
		_, merged := os.Stat("/usr/lib/extension-release.d/extension-release.x")
		after := nodeFacts(t, c, changes, time.Now().String())
		t.Logf("refresh: %v\n%smerged: %t; mounts that are left: %v", err, out, merged == nil, after.RefreshBlockers)
	}
	refresh()
	run(t, "mkdir", "-p", point+"/inner")
	run(t, "mount", "-t", "tmpfs", "tmpfs", point+"/inner")
	if facts := nodeFacts(t, c, changes, "nested"); !slices.Equal(facts.RefreshBlockers, []string{point, point + "/inner"}) {
		t.Errorf("one within another: %v", facts.RefreshBlockers)
	}
	refresh()
}
