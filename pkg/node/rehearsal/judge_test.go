package rehearsal

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
)

// plain is what a trial of a usual node sees.
func plain(version string) Seen {
	return Seen{
		Said: []string{"Using extensions 'kubernetes.raw'.", "Merged extensions into '/usr'."}, Merged: version, Extensions: []string{"containerd", "kubernetes"},
		Kubelet: Service{UnitFile: facts.UnitFile{Path: "/usr/lib/systemd/system/kubelet.service", Command: []string{"/usr/bin/kubelet"}, Started: true}},
		Runtime: Service{UnitFile: facts.UnitFile{Path: "/usr/lib/systemd/system/containerd.service", Command: []string{"/usr/bin/containerd"}}},
	}
}

// refused is what a trial sees when systemd-sysext merges nothing.
func refused(said string) func(*Seen) {
	return func(s *Seen) {
		*s = Seen{Said: []string{said}, Ended: "exit status 1", Kubelet: s.Kubelet, Runtime: s.Runtime}
	}
}

func TestJudge(t *testing.T) {
	const noImage = "Failed to read metadata for image other: Package not installed"
	elsewhere := func(s *Seen) {
		s.Kubelet.Path, s.Kubelet.Command = "/etc/systemd/system/kubelet.service", []string{"/opt/bin/kubelet"}
	}
	wrapper := func(s *Seen) {
		s.Kubelet.Command, s.Kubelet.Script = []string{"/etc/kubernetes/start.sh"}, true
	}
	for name, test := range map[string]struct {
		today, next func(*Seen)
		boots       func(*Boots)
		want        string // the problem with its cause, or what was not tried; empty: nothing
	}{
		"a usual node": {},
		"a file that is no image": {today: refused(noImage), next: refused(noImage),
			want: "NothingMerges Node: systemd-sysext would merge nothing: " + noImage},
		"it came with the version": {next: refused(noImage),
			want: "NothingMerges Version: systemd-sysext would merge nothing: " + noImage},
		"a crash": {today: refused("(sd-merge) terminated by signal ABRT."), next: refused("(sd-merge) terminated by signal ABRT."),
			want: "NothingMerges Node: systemd-sysext would merge nothing: (sd-merge) terminated by signal ABRT."},
		"an unknown end": {today: refused("Failed to make loopback device: Device or resource busy"), next: refused("Failed to make loopback device: Device or resource busy"),
			want: "untried: the merge: systemd-sysext exit status 1: Failed to make loopback device: Device or resource busy"},
		"an unknown end with the version": {next: refused("Failed to make loopback device: Device or resource busy"),
			want: "untried: the merge: systemd-sysext exit status 1: Failed to make loopback device: Device or resource busy"},
		"the image is for another operating system": {next: func(s *Seen) {
			s.Merged, s.Said = "", []string{"No suitable extensions found (1 ignored due to incompatible image(s))."}
		},
			want: "ImageNotMerged Version: systemd-sysext would not merge the image of v1.34.4: No suitable extensions found (1 ignored due to incompatible image(s))."},
		"merged, with an error after it": {today: func(s *Seen) { s.Ended = "exit status 1" }, next: func(s *Seen) { s.Ended = "exit status 1" }},
		"another extension is lost": {next: func(s *Seen) { s.Extensions = []string{"kubernetes"} },
			want: "ExtensionNotMerged Version: the extension containerd is merged now, and would not be after the boot"},
		"an extension with files in /opt": {today: func(s *Seen) { s.ReadOnly = []string{"kata"} }, next: func(s *Seen) { s.ReadOnly = []string{"kata"} },
			want: "FolderReadOnly Node: /opt/kubectl-upgrade would be read-only, as systemd-sysext makes all of /opt for an extension with files there (kata)"},
		"a kubelet elsewhere": {today: elsewhere, next: elsewhere,
			want: "KubeletElsewhere Node: /etc/systemd/system/kubelet.service starts /opt/bin/kubelet, which no image of Kubernetes brings: the node would not run v1.34.4"},
		"a kubelet elsewhere, and a reboot": {today: elsewhere, next: elsewhere, boots: func(b *Boots) { b.Version, b.Next = b.Running, b.Today }},
		"a wrapper of the image's kubelet":  {today: wrapper, next: wrapper},
		"a wrapper of another kubelet": {today: wrapper, next: wrapper, boots: func(b *Boots) { b.KubeletProgram = "/opt/bin/kubelet" },
			want: "KubeletElsewhere Node: /usr/lib/systemd/system/kubelet.service starts /opt/bin/kubelet, which no image of Kubernetes brings: the node would not run v1.34.4"},
		"no kubelet.service": {next: func(s *Seen) { s.Kubelet = Service{} },
			want: "KubeletNotStarted Version: there is no kubelet.service, or it is masked"},
		"nothing starts it": {next: func(s *Seen) { s.Kubelet.Started = false },
			want: "KubeletNotStarted Version: no unit starts kubelet.service"},
		"nothing starts it today either": {today: func(s *Seen) { s.Kubelet.Started = false }, next: func(s *Seen) { s.Kubelet.Started = false }},
		"its program is missing": {next: func(s *Seen) { s.Kubelet.Missing = []string{"/usr/bin/kubelet"} },
			want: "KubeletNotStarted Version: /usr/lib/systemd/system/kubelet.service needs /usr/bin/kubelet, which is not there"},
		"containerd's configuration is missing": {today: func(s *Seen) { s.Runtime.Missing = []string{"/etc/c.toml"} }, next: func(s *Seen) { s.Runtime.Missing = []string{"/etc/c.toml"} },
			want: "RuntimeMissing Node: /usr/lib/systemd/system/containerd.service needs /etc/c.toml, which is not there"},
		"a mutable hierarchy": {today: func(s *Seen) { *s = Seen{Mutable: []string{"/usr"}} }, next: func(s *Seen) { *s = Seen{Mutable: []string{"/usr"}} },
			want: "left out: the merge of /usr, which is in a mutable mode"},
	} {
		boots := Boots{
			Version: "v1.34.4", Running: "v1.34.3", Today: plain("v1.34.3"), Next: plain("v1.34.4"),
			Extensions: []string{"containerd", "kubernetes"}, KubeletProgram: "/usr/bin/kubelet",
		}
		if test.today != nil {
			test.today(&boots.Today)
		}
		if test.next != nil {
			test.next(&boots.Next)
		}
		if test.boots != nil {
			test.boots(&boots)
		}
		if got := told(Judge(boots)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

// told returns everything that a rehearsal says.
func told(r v1alpha1.Rehearsal) string {
	var all []string
	for _, p := range r.Problems {
		all = append(all, string(p.Reason)+" "+string(p.Cause)+": "+p.Message)
	}
	for _, part := range r.Untried {
		all = append(all, "untried: "+part)
	}
	for _, part := range r.LeftOut {
		all = append(all, "left out: "+part)
	}
	return strings.Join(all, "; ")
}

// TestRefusal checks which file or mount a refusal names.
func TestRefusal(t *testing.T) {
	const crash = "Assertion 'original_path' failed at src/basic/path-util.c:409, function path_startswith_full(). Aborting."
	const metadata = "Failed to read metadata for image other: Package not installed"
	for want, seen := range map[string]Seen{
		"":                                       {Said: []string{"Failed to set up mount namespace: Operation not permitted"}},
		metadata:                                 {Said: []string{"Using extensions 'a.raw'.", metadata}},
		"/etc/extensions/other.raw: " + metadata: {Said: []string{metadata}, Refused: "/etc/extensions/other.raw", Mounts: []string{"/opt/a"}},
		crash + " (with what is mounted at /opt/a and /opt/a/b)":          {Said: []string{crash}, Mounts: []string{"/opt/a", "/opt/a/b"}},
		"Failed to read metadata for image x.y: Structure needs cleaning": {Said: []string{"Failed to read metadata for image x.y: Structure needs cleaning"}},
	} {
		if got := seen.refusal(); got != want {
			t.Errorf("%q: %q, want %q", seen.Said, got, want)
		}
	}
}

// TestRefusalLine checks what is told of a kubelet's log.
func TestRefusalLine(t *testing.T) {
	for text, want := range map[string]string{
		"Error: unknown flag: --pod-infra\nUsage:\n": "Error: unknown flag: --pod-infra",
		"I1130 a.go:1] \"Starting\"\nE1130 run.go:72] \"command failed\" err=\"failed to validate kubelet configuration, error: invalid configuration: maxPods (--max-pods) -5 must be \\\"positive\\\"\"\n": `failed to validate kubelet configuration, error: invalid configuration: maxPods (--max-pods) -5 must be "positive"`,
		"panic: unrecognized feature gate: Nonsense\n\ngoroutine 1 [running]:\n": "panic: unrecognized feature gate: Nonsense",
		"E1130 run.go:72] \"command failed\" err=\"out of memory\"\n":            "",
	} {
		if got := refusalLine(text, kubeletRefusals); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
