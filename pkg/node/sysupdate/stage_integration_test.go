//go:build integration

package sysupdate_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// newNode creates the node as CAPZ's bootstrap leaves it, with v1.34.3 merged and the
// publisher's conf.
func newNode(t *testing.T, source string) {
	t.Helper()
	for _, dir := range []string{host.ImagesDir, host.ConfDir, host.Root, filepath.Dir(host.Program(host.Root)), filepath.Dir(host.Link), filepath.Dir(host.MergedVersionFile)} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install(t, "v1.34.3", "v1.34.3")
	write(t, host.MergedVersionFile, "v1.34.3\n")
	write(t, host.Program(host.Root), "program")
	write(t, filepath.Join(host.ConfDir, "kubernetes-v1.34.conf"), publishersConf("v1.34", source))
	point(t, "v1.34.3")
}

func publishersConf(line, source string) string {
	return "[Transfer]\nVerify=false\n\n[Source]\nType=url-file\nPath=" + source +
		"\nMatchPattern=kubernetes-" + line + ".@v-%a.raw\n\n[Target]\nInstancesMax=3\nType=regular-file\n" +
		"Path=/opt/extensions/kubernetes\nCurrentSymlink=/etc/extensions/kubernetes.raw\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func install(t *testing.T, version, content string) {
	t.Helper()
	write(t, filepath.Join(host.ImagesDir, imageName(version)), string(imageOf(t, content)))
}

// keep puts an image where a managed node keeps it.
func keep(t *testing.T, version, content string) {
	t.Helper()
	if err := os.MkdirAll(host.KeptDir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(host.KeptDir, imageName(version)), string(imageOf(t, content)))
}

func point(t *testing.T, version string) {
	t.Helper()
	_ = os.Remove(host.Link)
	if err := os.Symlink("../../opt/extensions/kubernetes/"+imageName(version), host.Link); err != nil {
		t.Fatal(err)
	}
}

func stage(t *testing.T, p *publisher, version, content string) (*sysupdate.StageOutput, error) {
	t.Helper()
	return stageWith(t.Context(), t, p, version, content)
}

func stageWith(ctx context.Context, t *testing.T, p *publisher, version, content string) (*sysupdate.StageOutput, error) {
	t.Helper()
	var log bytes.Buffer
	out, err := sysupdate.Stage(ctx, host.OnNode, verb.StageArgs{
		Version: version, URL: p.url + imageName(version), SHA256: hashOf(imageOf(t, content)), Keyring: p.keyring,
	}, host.NewLog(&log))
	if t.Failed() || testing.Verbose() {
		t.Logf("%v\n%s", err, log.String())
	}
	return out, err
}

func wantReason(t *testing.T, err error, want v1alpha1.Reason) {
	t.Helper()
	if got := host.ReasonOf(err, "none"); got != want {
		t.Errorf("reason %s (%v), want %s", got, err, want)
	}
}

// wantNode checks the target of the symlink and the content of the folder of images: of kept
// ones, if there is one.
func wantNode(t *testing.T, active string, installed ...string) {
	t.Helper()
	facts, err := host.Gather(host.OnNode)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Active != active {
		t.Errorf("the symlink points to %s, want %s", facts.Active, active)
	}
	if diff := cmp.Diff(installed, facts.Installed); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	dir := host.KeptDir
	if _, err := os.Stat(dir); err != nil {
		dir = host.ImagesDir
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(installed) {
		t.Errorf("something is left over in %s: %v", dir, entries)
	}
}

func TestStagePatch(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4", "v1.34.5", "v1.35.4")
	newNode(t, p.url)
	out, err := stage(t, p, "v1.34.4", "v1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	if !out.Downloaded {
		t.Error("not downloaded")
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
	if p.downloads("v1.34.5") > 0 {
		t.Error("another version was downloaded too")
	}

	again, err := stage(t, p, "v1.34.4", "v1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	if again.Downloaded || p.downloads("v1.34.4") != 1 {
		t.Error("downloaded again what was there")
	}
}

func TestStageMinor(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.35.4")
	newNode(t, p.url)
	if _, err := stage(t, p, "v1.35.4", "v1.35.4"); err != nil {
		t.Fatal(err)
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.35.4")
	confs, err := sysupdate.Confs(host.OnNode)
	if diff := cmp.Diff([]string{"kubernetes-v1.34.conf"}, confs); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// A pre-release and a build are staged by their own names, with nothing beside them.
func TestStageOtherThanReleases(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4", "v1.34.4+k3s1", "v1.35.4", "v1.35.5-rc.1")
	newNode(t, p.url)
	if _, err := stage(t, p, "v1.34.4+k3s1", "v1.34.4+k3s1"); err != nil {
		t.Fatal(err)
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4+k3s1")
	if _, err := stage(t, p, "v1.35.5-rc.1", "v1.35.5-rc.1"); err != nil {
		t.Fatal(err)
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4+k3s1", "v1.35.5-rc.1")
}

// TestStageMakesRoom checks that at most three images of a minor are kept, and each that is
// needed.
func TestStageMakesRoom(t *testing.T) {
	p := newPublisher(t, "v1.34.5")
	newNode(t, p.url)
	for _, version := range []string{"v1.34.2", "v1.34.3", "v1.34.4"} {
		keep(t, version, version)
	}
	if err := host.OnNode.SetGuard(host.Guard{From: "v1.34.2", To: "v1.34.3"}); err != nil {
		t.Fatal(err)
	}
	if _, err := stage(t, p, "v1.34.5", "v1.34.5"); err != nil {
		t.Fatal(err)
	}
	wantNode(t, "v1.34.3", "v1.34.2", "v1.34.3", "v1.34.5")
}

func TestStageAfterTimerFlipped(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	if out, err := exec.CommandContext(t.Context(), host.Sysupdate, "-C", "kubernetes", "update").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantNode(t, "v1.34.4", "v1.34.3", "v1.34.4")
	out, err := stage(t, p, "v1.34.4", "v1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
	if len(out.Notes) != 1 || out.Downloaded {
		t.Errorf("want one note and no download: %+v", out)
	}
}

func TestStageRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(*testing.T, *publisher)
		want    v1alpha1.Reason
	}{
		{"index lists another hash", func(_ *testing.T, p *publisher) {
			p.index[imageName("v1.34.4")] = strings.Repeat("ab", 32)
		}, v1alpha1.ReasonHashMismatch},
		{"file is not what the index says", func(t *testing.T, p *publisher) {
			p.files[imageName("v1.34.4")] = imageOf(t, "v1.34.5")
		}, v1alpha1.ReasonHashMismatch},
		{"not listed", func(_ *testing.T, p *publisher) {
			delete(p.index, imageName("v1.34.4"))
		}, v1alpha1.ReasonNotOffered},
		{"listed and not there", func(_ *testing.T, p *publisher) {
			delete(p.files, imageName("v1.34.4"))
		}, v1alpha1.ReasonNotOffered},
		{"source is down", func(_ *testing.T, p *publisher) {
			p.url = "http://127.0.0.1:1/"
		}, v1alpha1.ReasonSourceUnavailable},
		{"connection breaks", func(_ *testing.T, p *publisher) {
			p.breakAfter = 1000
		}, v1alpha1.ReasonSourceUnavailable},
		{"two minors' confs", func(t *testing.T, p *publisher) {
			write(t, filepath.Join(host.ConfDir, "kubernetes-v1.35.conf"), publishersConf("v1.35", p.url))
		}, v1alpha1.ReasonConfConflict},
		{"disk is full", func(t *testing.T, _ *publisher) {
			if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", host.ImagesDir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", host.ImagesDir).Run() })
			install(t, "v1.34.3", "v1.34.3")
		}, v1alpha1.ReasonDiskFull},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPublisher(t, "v1.34.3", "v1.34.4")
			newNode(t, p.url)
			test.prepare(t, p)
			_, err := stage(t, p, "v1.34.4", "v1.34.4")
			wantReason(t, err, test.want)
			wantNode(t, "v1.34.3", "v1.34.3")
		})
	}
}

func TestStageWrongContent(t *testing.T) {
	for _, content := range []string{"wrong", "misnamed"} {
		p := newPublisher(t, "v1.34.3")
		newNode(t, p.url)
		p.publish("v1.34.4", content)
		_, err := stage(t, p, "v1.34.4", content)
		wantReason(t, err, v1alpha1.ReasonContentMismatch)
		wantNode(t, "v1.34.3", "v1.34.3")
	}
}

// TestStageUnmountable checks that the error says what the file is.
func TestStageUnmountable(t *testing.T) {
	whole := imageOf(t, "v1.34.4")
	for want, data := range map[string][]byte{
		"a zip archive":          append([]byte("PK\x03\x04"), whole...),
		"the rest is missing":    whole[:200],
		"a page of a web server": []byte("<html>Not here</html>"),
	} {
		p := newPublisher(t, "v1.34.3")
		newNode(t, p.url)
		p.files[imageName("v1.34.4")], p.index[imageName("v1.34.4")] = data, hashOf(data)
		_, err := sysupdate.Stage(t.Context(), host.OnNode, verb.StageArgs{
			Version: "v1.34.4", URL: p.url + imageName("v1.34.4"), SHA256: hashOf(data),
		}, host.NewLog(&bytes.Buffer{}))
		wantReason(t, err, v1alpha1.ReasonContentMismatch)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "dmesg") {
			t.Errorf("%v, want %q", err, want)
		}
		wantNode(t, "v1.34.3", "v1.34.3")
	}
}

func TestStageReplacesWrongFile(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	write(t, filepath.Join(host.ImagesDir, imageName("v1.34.4")), "half of")
	out, err := stage(t, p, "v1.34.4", "v1.34.4")
	if err != nil || !out.Downloaded {
		t.Errorf("%+v %v", out, err)
	}
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
}

// A call that is stopped leaves nothing that hinders the next one.
func TestStageInterrupted(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	left := filepath.Join(host.StagingDir, ".#sysupdate"+imageName("v1.34.4")+"0123456789abcdef")
	if err := os.MkdirAll(host.StagingDir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, left, "half of")
	ctx, cancel := context.WithCancel(t.Context())
	p.onImage = cancel
	if _, err := stageWith(ctx, t, p, "v1.34.4", "v1.34.4"); err == nil {
		t.Error("a call that was stopped must fail")
	}
	p.onImage = nil
	if _, err := stage(t, p, "v1.34.4", "v1.34.4"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("an interrupted download is still there")
	}
}

func TestStageNeverRemovesWhatRuns(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	_, err := stage(t, p, "v1.34.3", "v1.34.4")
	wantReason(t, err, v1alpha1.ReasonHashMismatch)
	wantNode(t, "v1.34.3", "v1.34.3")
}

func TestActivate(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4", "v1.35.4")
	for _, version := range []string{"v1.34.4", "v1.35.4"} {
		newNode(t, p.url)
		if _, err := stage(t, p, version, version); err != nil {
			t.Fatal(err)
		}
		args := verb.ActivateArgs{Version: version, SHA256: hashOf(imageOf(t, version))}
		for range 2 {
			out, err := sysupdate.Activate(t.Context(), host.OnNode, args, host.ManifestsDir)
			want := &sysupdate.ActivateOutput{From: "v1.34.3", To: version, Conf: "kubernetes-" + version[:5] + ".conf"}
			if diff := cmp.Diff(want, out); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		}
		wantNode(t, version, "v1.34.3", version)
		if list, err := exec.CommandContext(t.Context(), host.Sysupdate, "-C", "kubernetes", "list").CombinedOutput(); err != nil {
			t.Errorf("systemd-sysupdate does not like the new conf: %v\n%s", err, list)
		}
		// A second stage, before the reboot, takes nothing of that back.
		if _, err := stage(t, p, version, version); err != nil {
			t.Error(err)
		}
		wantNode(t, version, "v1.34.3", version)
	}
}

func TestActivateWrongBytes(t *testing.T) {
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	keep(t, "v1.34.3", "v1.34.3")
	keep(t, "v1.34.4", "wrong")
	_, err := sysupdate.Activate(t.Context(), host.OnNode, verb.ActivateArgs{Version: "v1.34.4", SHA256: hashOf(imageOf(t, "v1.34.4"))}, host.ManifestsDir)
	wantReason(t, err, v1alpha1.ReasonHashMismatch)
	wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
}
