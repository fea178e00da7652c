package cli

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
)

func TestEveryVerbSaysWhatItDoes(t *testing.T) {
	for _, cmd := range New().Commands() {
		if cmd.Short == "" || cmd.RunE == nil {
			t.Errorf("%s has no short help, or does nothing", cmd.Name())
		}
		takesArguments := strings.Contains(cmd.Use, " ")
		if takesArguments && !cmd.Hidden && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.Name())
		}
	}
}

func TestFlagsThatAreNotGivenStayAsTheyWere(t *testing.T) {
	there := cluster.Spec{ControlPlanes: 3, Workers: 1, Version: "v1.35.4", RawFlatcar: true, Base: "bookworm", Containerd: 2, From: "upstream"}
	for _, test := range []struct {
		args []string
		want cluster.Spec
	}{
		{nil, there},
		{[]string{"--workers=2"}, cluster.Spec{ControlPlanes: 3, Workers: 2, Version: "v1.35.4", RawFlatcar: true, Base: "bookworm", Containerd: 2, From: "upstream"}},
		{[]string{"--control-planes=1", "--version=v1.34.3", "--raw-flatcar=false", "--base=trixie", "--containerd=0", "--from="}, cluster.Spec{ControlPlanes: 1, Workers: 1, Version: "v1.34.3", Base: "trixie"}},
	} {
		asked := cluster.Spec{}
		flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
		flags.IntVar(&asked.ControlPlanes, "control-planes", 1, "")
		flags.IntVar(&asked.Workers, "workers", 2, "")
		flags.StringVar(&asked.Version, "version", DefaultVersion, "")
		flags.BoolVar(&asked.RawFlatcar, "raw-flatcar", false, "")
		flags.StringVar(&asked.From, "from", "", "")
		flags.StringVar((*string)(&asked.Base), "base", "trixie", "")
		flags.IntVar(&asked.Containerd, "containerd", 0, "")
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, unlessGiven(flags, asked, there)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestStatusShowsEveryStateOfANode(t *testing.T) {
	up := cluster.Member{Ready: true, Kubelet: "v1.34.3", Containerd: "2.2.9"}
	status := cluster.Status{
		Spec:     cluster.Spec{Base: "bookworm"},
		Systemd:  "252.39-1",
		Complete: true,
		Nodes: []cluster.NodeStatus{
			{Name: "cp1", Address: "10.88.0.11", On: true, BootID: "b", Memory: 380 << 20, Member: up},
			{Name: "w1", Address: "10.88.0.21", Member: cluster.Member{Kubelet: "v1.34.3"}},
			{Name: "w2", Address: "10.88.0.22", On: true, BootID: "b", Partitioned: true, Member: cluster.Member{Ready: true, Unschedulable: true, Kubelet: "v1.34.4"}},
			{Name: "w3", Address: "10.88.0.23", On: true},
		},
		Offers: []serve.Offer{{Version: "1.34.3"}, {Version: "1.34.4"}},
	}
	var out bytes.Buffer
	if err := writeStatus(&out, status); err != nil {
		t.Fatal(err)
	}
	want := `NODE   ADDRESS      MACHINE       KUBERNETES       KUBELET   CONTAINERD   MEMORY
cp1    10.88.0.11   on            Ready            v1.34.3   2.2.9        380 MiB
w1     10.88.0.21   off           NotReady         v1.34.3   -            -
w2     10.88.0.22   partitioned   Ready,cordoned   v1.34.4   -            0 MiB
w3     10.88.0.23   rebooting     -                -         -            0 MiB

Base: Debian bookworm, systemd 252.39-1
Offered: v1.34.3, v1.34.4
The image server, registry and balancer are down: ` + "`lab up`" + ` starts them.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusWithoutTheAPI(t *testing.T) {
	var out bytes.Buffer
	status := cluster.Status{Complete: true, Serving: true, APIError: errors.New("connection refused"),
		Nodes: []cluster.NodeStatus{{Name: "cp1", On: true, BootID: "b"}}}
	if err := writeStatus(&out, status); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"unknown", "The API does not answer: connection refused\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}

func TestLogReaders(t *testing.T) {
	for _, test := range []struct {
		got  []string
		want string
	}{
		{journalArgs("/j", "", false), "journalctl --directory /j"},
		{journalArgs("/j", "kubelet", true), "journalctl --directory /j --unit kubelet --follow"},
		{consoleArgs("/c", false), "tail --lines=+1 /c"},
		{consoleArgs("/c", true), "tail --lines=+1 --follow /c"},
	} {
		if got := strings.Join(test.got, " "); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestProgressSaysHowItEnded(t *testing.T) {
	var out bytes.Buffer
	report := progress(&out)
	report("bridge").End(nil)
	report("booting").End(errors.New("no power"))
	want := "  bridge … 0s\n  booting … failed after 0s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"exec", "w1"}, {"kill"}, {"reboot", "w1", "w2"}, {"publish"}, {"up", "now"}, {"build-image"}, {"logs", "w1", "--console", "-u", "x"}} {
		root := New()
		root.SetArgs(append(args, "--state", t.TempDir()))
		root.SetOut(new(bytes.Buffer))
		root.SetErr(new(bytes.Buffer))
		err := root.Execute()
		if err == nil || !regexp.MustCompile(`arg\(s\)|flag|unknown command`).MatchString(err.Error()) {
			t.Errorf("lab %s: %v", strings.Join(args, " "), err)
		}
	}
}

// TestWrongVersionsAreRefusedFirst checks that a wrong version is told before the lab is
// opened, which is empty here.
func TestWrongVersionsAreRefusedFirst(t *testing.T) {
	for _, args := range [][]string{{"load-etcd", "v3.5"}, {"containerd", "w1", "3"}} {
		root := New()
		root.SetArgs(append(args, "--state", t.TempDir()))
		root.SetOut(new(bytes.Buffer))
		root.SetErr(new(bytes.Buffer))
		err := root.Execute()
		if err == nil || !strings.Contains(err.Error(), args[len(args)-1]+`" is not a`) {
			t.Errorf("lab %s: %v", strings.Join(args, " "), err)
		}
	}
}
