package node

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
)

func TestInnermostPID(t *testing.T) {
	for status, want := range map[string]string{
		"Name:\tsystemd\nNSpid:\t4711\t1\n":    "1",
		"Name:\tsystemd\nNSpid:\t4711\t9\t1\n": "1",
		"Name:\tnspawn\nNSpid:\t4711\n":        "",
		"Name:\tsh\nNSpid:\t4711\t23\n":        "23",
		"":                                     "",
	} {
		if got := innermostPID(status); got != want {
			t.Errorf("innermostPID(%q) = %q, want %q", status, got, want)
		}
	}
}

func TestOnlyStatus133IsAReboot(t *testing.T) {
	for status, want := range map[string]bool{"0": false, "1": false, "133": true, "134": false} {
		again, err := rebooted(exec.CommandContext(t.Context(), "sh", "-c", "exit "+status).Run())
		if again != want || (err != nil) == (status == "0" || status == "133") {
			t.Errorf("status %s: again %v, %v", status, again, err)
		}
	}
	if again, err := rebooted(errors.New("not started")); again || err == nil {
		t.Errorf("a failed start: again %v, %v", again, err)
	}
}

func TestWhatRunsBelongsToThisMachine(t *testing.T) {
	m := create(t, spec(t))
	for _, groups := range []cgroup.Version{cgroup.V1, cgroup.V2} {
		line := strings.Join(m.nspawn(t.Context(), groups).Args, " ")
		for _, part := range []string{
			"--machine=w1 ", "--network-bridge=labbr0 ", "--directory=" + m.Dir + "/root ",
			"--bind=" + m.Dir + "/containerd:/var/lib/containerd ", "--settings=no ", " --boot",
		} {
			if !strings.Contains(line, part) {
				t.Errorf("no %q in %s", part, line)
			}
		}
	}
}

func TestNodesHaveTheirHostsVersionOfControlGroups(t *testing.T) {
	const force = "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"
	m := create(t, spec(t))
	for _, want := range []struct {
		groups    cgroup.Version
		hierarchy string
		forced    bool
	}{
		{cgroup.V1, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0", true},
		{cgroup.V2, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", false},
	} {
		cmd := m.nspawn(t.Context(), want.groups)
		if !slices.Contains(cmd.Env, want.hierarchy) || slices.Contains(cmd.Env, force) != want.forced {
			t.Errorf("version %d: environment %v", want.groups, cmd.Env)
		}
		if got := slices.Contains(cmd.Args, "--setenv="+force); got != want.forced {
			t.Errorf("version %d: arguments %v", want.groups, cmd.Args)
		}
	}
}

func TestAMachineThatIsOff(t *testing.T) {
	m := create(t, spec(t))
	if on, err := m.On(); on || err != nil {
		t.Errorf("On = %v, %v", on, err)
	}
	if _, err := m.BootID(); !errors.Is(err, ErrOff) {
		t.Errorf("BootID: %v", err)
	}
	if _, err := m.Exec(t.Context(), "true"); !errors.Is(err, ErrOff) {
		t.Errorf("Exec: %v", err)
	}
	if err := m.Kill(t.Context()); err != nil {
		t.Errorf("Kill: %v", err)
	}
}

func TestAPartitionOutlastsTheCable(t *testing.T) {
	m := create(t, spec(t))
	m.Spec.Name = "none" // no such interface is on this machine
	for range 2 {
		if err := m.Partition(t.Context()); err != nil || !m.Partitioned() {
			t.Fatalf("Partition: %v, partitioned %v", err, m.Partitioned())
		}
	}
	for range 2 {
		if err := m.Heal(t.Context()); err != nil || m.Partitioned() {
			t.Fatalf("Heal: %v, partitioned %v", err, m.Partitioned())
		}
	}
}

func TestStartSaysWhatTheSupervisorSaid(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: the supervisor cannot even be started, which is an error too")
	}
	m := create(t, spec(t))
	if err := m.Start(t.Context(), "sh", "-c", "echo no room on the device; exit 1"); err == nil {
		t.Fatal("a supervisor that ends at once is no error")
	} else if os.Geteuid() == 0 && !strings.Contains(err.Error(), "no room on the device") {
		t.Errorf("got %v", err)
	}
}
