package rehearsal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// tree makes a node's files, by their paths. A text that begins with "-> " is a symlink.
func tree(t *testing.T, files map[string]string) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	for path, text := range files {
		set(t, l, path, text)
	}
	return l
}

func set(t *testing.T, l host.Layout, path, text string) {
	t.Helper()
	path = l.At(path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if target, is := cutLink(text); is {
		err = errors.Join(err, os.Symlink(target, path))
	} else {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // a program
	}
	if err != nil {
		t.Fatal(err)
	}
}

func cutLink(text string) (string, bool) {
	const mark = "-> "
	if len(text) > len(mark) && text[:len(mark)] == mark {
		return text[len(mark):], true
	}
	return "", false
}

func usual() map[string]string {
	return map[string]string{
		host.MergedVersionFile: "v1.34.4\n",
		"/usr/lib/extension-release.d/extension-release.kubernetes":   "ID=_any\n",
		"/usr/lib/extension-release.d/extension-release.containerd":   "ID=_any\n",
		"/usr/lib/systemd/system/kubelet.service":                     "[Service]\nExecStart=/usr/bin/kubelet\n",
		"/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf":   "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n  $FLAGS\n",
		"/usr/lib/systemd/system/multi-user.target.d/10-kubelet.conf": "[Unit]\nUpholds=kubelet.service\n",
		"/usr/bin/kubelet":                           "\x7fELF",
		"/usr/bin/containerd":                        "\x7fELF",
		"/usr/lib/systemd/system/containerd.service": "[Service]\nExecStart=containerd --config /etc/containerd/config.toml\n",
		"/etc/containerd/config.toml":                "",
		"/proc/self/mountinfo":                       "30 1 254:0 / / rw - ext4 /dev/vda rw\n",
	}
}

// TestLook checks what a trial sees of the files that are merged.
func TestLook(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]string
		want   func(*Seen)
	}{
		"a usual node": {nil, func(*Seen) {}},
		"another unit": {map[string]string{"/etc/systemd/system/kubelet.service": "[Service]\nExecStart=-/opt/bin/kubelet --v 2\n", "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": ""}, func(s *Seen) {
			s.Kubelet.Path, s.Kubelet.Command = "/etc/systemd/system/kubelet.service", []string{"/opt/bin/kubelet", "--v", "2"}
			s.Kubelet.Missing = []string{"/opt/bin/kubelet"}
		}},
		"masked": {map[string]string{"/etc/systemd/system/kubelet.service": "-> /dev/null"}, func(s *Seen) {
			s.Kubelet.Path, s.Kubelet.Masked = "/etc/systemd/system/kubelet.service", true
		}},
		"a script":          {map[string]string{"/usr/bin/kubelet": "#!/bin/sh\n"}, func(s *Seen) { s.Kubelet.Script = true }},
		"nothing starts it": {map[string]string{"/usr/lib/systemd/system/multi-user.target.d/10-kubelet.conf": "[Unit]\nUpholds=other.service\n"}, func(s *Seen) { s.Kubelet.Started = false }},
		"a link starts it": {map[string]string{
			"/usr/lib/systemd/system/multi-user.target.d/10-kubelet.conf": "", "/etc/systemd/system/multi-user.target.wants/kubelet.service": "-> /usr/lib/systemd/system/kubelet.service",
		}, func(*Seen) {}},
		"containerd's configuration elsewhere": {map[string]string{"/usr/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd --config=/etc/other.toml\n"}, func(s *Seen) {
			s.Runtime.Command, s.Runtime.Missing = []string{"/usr/bin/containerd", "--config=/etc/other.toml"}, []string{"/etc/other.toml"}
		}},
	} {
		l := tree(t, usual())
		for path, text := range test.change {
			_ = os.Remove(l.At(path))
			set(t, l, path, text)
		}
		want := Seen{
			Merged: "v1.34.4", Extensions: []string{"containerd", "kubernetes"},
			Kubelet: Service{UnitFile: facts.UnitFile{Path: "/usr/lib/systemd/system/kubelet.service", Command: []string{"/usr/bin/kubelet", "$FLAGS"}, Started: true}},
			Runtime: Service{UnitFile: facts.UnitFile{Path: "/usr/lib/systemd/system/containerd.service", Command: []string{"/usr/bin/containerd", "--config", "/etc/containerd/config.toml"}}},
		}
		test.want(&want)
		if diff := cmp.Diff(want, look(l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFingerprint checks that a rehearsal is made anew when something that it reads has changed, and only then.
func TestFingerprint(t *testing.T) {
	const config, authority = "/var/lib/kubelet/config.yaml", "/etc/kubernetes/pki/ca.crt"
	files := usual()
	files["/etc/extensions/kubernetes.raw"], files[config] = "-> /nowhere", "kind: KubeletConfiguration\nauthentication: {x509: {clientCAFile: "+authority+"}}"
	files[authority] = "a certificate"
	for name, test := range map[string]struct {
		change func(host.Layout)
		same   bool
	}{
		"nothing":                    {func(host.Layout) {}, true},
		"another file":               {func(l host.Layout) { set(t, l, "/etc/hosts", "a") }, true},
		"an extension":               {func(l host.Layout) { set(t, l, "/etc/extensions/other.raw", "a") }, false},
		"a drop-in":                  {func(l host.Layout) { set(t, l, "/etc/systemd/system/kubelet.service.d/a.conf", "a") }, false},
		"an image":                   {func(l host.Layout) { set(t, l, host.ImagePath("v1.34.4", host.Architecture()), "a") }, false},
		"the link":                   {func(l host.Layout) { _ = os.Remove(l.At(host.Link)); set(t, l, host.Link, "-> /elsewhere") }, false},
		"the kubelet's CA":           {func(l host.Layout) { _ = os.Remove(l.At(authority)) }, false},
		"containerd's configuration": {func(l host.Layout) { _ = os.Remove(l.At("/etc/containerd/config.toml")) }, false},
		"a static pod":               {func(l host.Layout) { set(t, l, host.ManifestsDir+"/etcd.yaml", "a") }, false},
		"the pulled images":          {func(l host.Layout) { set(t, l, kubeadm.PulledFile(host.OnNode), "a") }, false},
		"the configuration": {func(l host.Layout) {
			if err := os.Chtimes(l.At(config), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		l := tree(t, files)
		before := fingerprint(l, []string{"v1.34.4"}, facts.FindKubelet(t.Context(), l))
		test.change(l)
		if same := before == fingerprint(l, []string{"v1.34.4"}, facts.FindKubelet(t.Context(), l)); same != test.same {
			t.Errorf("%s: the same %t, want %t", name, same, test.same)
		}
	}
}

// TestRecordIsCurrent checks when the last results count.
func TestRecordIsCurrent(t *testing.T) {
	now := time.Unix(1e9, 0)
	tried := []v1alpha1.Rehearsal{{Version: "v1.34.4"}}
	untried := []v1alpha1.Rehearsal{{Version: "v1.34.4", Untried: []string{"the merge"}}}
	for name, test := range map[string]struct {
		record record
		want   bool
	}{
		"the same inputs":      {record{"a", now.Add(-24 * time.Hour), tried, nil}, true},
		"other inputs":         {record{"b", now, tried, nil}, false},
		"untried a moment ago": {record{"a", now.Add(-time.Minute), untried, nil}, true},
		"untried an hour ago":  {record{"a", now.Add(-time.Hour), untried, nil}, false},
		"the clock went back":  {record{"a", now.Add(time.Hour), untried, nil}, false},
	} {
		if got := test.record.current("a", now); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// TestBoots checks which boots are rehearsed.
func TestBoots(t *testing.T) {
	for name, test := range map[string]struct {
		found verb.HostFacts
		want  []string
	}{
		"staged":           {verb.HostFacts{Active: "v1.34.3", Installed: []string{"v1.34.3", "v1.34.4"}}, []string{"v1.34.3", "v1.34.4"}},
		"elsewhere":        {verb.HostFacts{Active: "v1.34.3", Installed: []string{"v1.34.4"}}, []string{"v1.34.4", "v1.34.3"}},
		"the link dangles": {verb.HostFacts{Active: verb.NoKubernetes, Installed: []string{"v1.34.4"}}, []string{"v1.34.4"}},
		"the link is odd":  {verb.HostFacts{Installed: []string{"v1.34.4"}}, []string{"v1.34.4"}},
	} {
		if diff := cmp.Diff(test.want, boots(test.found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestConfexts checks that confexts are left out, and that one which is not there is told.
func TestConfexts(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":     {nil, ""},
		"one":      {map[string]string{"/var/lib/confexts/a.raw": "image"}, "left out: the merge of /etc from what is in /var/lib/confexts"},
		"masked":   {map[string]string{"/etc/confexts/a.raw": "-> /dev/null"}, "left out: the merge of /etc from what is in /etc/confexts"},
		"dangling": {map[string]string{"/etc/confexts/a.raw": "-> /gone"}, "untried: the confext /etc/confexts/a.raw: no such file or directory; left out: the merge of /etc from what is in /etc/confexts"},
	} {
		var out v1alpha1.Rehearsal
		confexts(tree(t, test.files), &out)
		if got := told(out); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
