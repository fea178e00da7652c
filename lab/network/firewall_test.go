package network

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
)

// inOwnNetwork runs the test again in a network namespace of its own, with a /sys
// that shows it: no rule of a test reaches this machine's packets. It reports
// whether this is that run.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv("LAB_OWN_NETWORK") != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.Command("sh", "-c", `mount --make-rprivate / && mount -t sysfs sysfs /sys && ip link set lo up && exec "$0" "$@"`,
		os.Args[0], "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), "LAB_OWN_NETWORK=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	}
	return false
}

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func bridgeUp(t *testing.T) {
	t.Helper()
	if err := Up(t.Context(), "test", []Endpoint{Worker(1)}); err != nil {
		t.Fatal(err)
	}
}

const dropAll = `
table inet strict {
	chain i { type filter hook input priority 10; policy drop; iifname "lo" accept; }
	chain f { type filter hook forward priority -5; policy drop; }
	chain o { type filter hook output priority 0; policy drop; oifname "lo" accept; }
}
table ip raw {
	chain p { type filter hook prerouting priority -300; policy accept; }
}
`

// docker is what Docker's daemon sets up, of which only the policy matters here.
const docker = `
iptables -P FORWARD DROP
iptables -N DOCKER-USER
iptables -N DOCKER-FORWARD
iptables -A FORWARD -j DOCKER-USER
iptables -A FORWARD -j DOCKER-FORWARD
iptables -A DOCKER-FORWARD -i docker0 -j ACCEPT
`

func TestAdmit(t *testing.T) {
	for name, c := range map[string]struct{ needs, setUp, list string }{
		"no firewall":               {"ip", "", "true"},
		"docker":                    {"iptables", docker, "iptables -S"},
		"ufw":                       {"iptables", "iptables -P FORWARD DROP; iptables -P INPUT DROP; iptables -A INPUT -i lo -j ACCEPT; iptables -A FORWARD -j REJECT", "iptables -S"},
		"legacy tables":             {"iptables-legacy", "iptables-legacy -P FORWARD DROP; iptables-legacy -P INPUT DROP; iptables-legacy -P OUTPUT DROP", "iptables-legacy -S"},
		"nftables":                  {"nft", "nft -f - <<'END'" + dropAll + "END", "nft list ruleset"},
		"nftables and legacy":       {"nft", "nft -f - <<'END'" + dropAll + "END\niptables-legacy -P FORWARD DROP", "nft list ruleset; iptables-legacy -S"},
		"IPv6 off":                  {"ip", "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1", "true"},
		"IPv6 off, with a firewall": {"iptables", "sysctl -qw net.ipv6.conf.all.disable_ipv6=1; iptables -P FORWARD DROP", "iptables -S"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !inOwnNetwork(t) {
				return
			}
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Fatalf("%v: make test installs it", err)
			}
			sh(t, c.setUp)
			before := sh(t, c.list)
			bridgeUp(t)
			blocked := reach(t.Context())
			if firewall := strings.Contains(c.setUp, "DROP") || strings.Contains(c.setUp, "drop"); firewall != errors.As(blocked, &blockedError{}) {
				t.Fatalf("without rules of the lab: %v", blocked)
			}
			record := host.Record(filepath.Join(t.TempDir(), "firewall.json"))
			for range 2 { // the second is that of a resumed `up`
				if err := Admit(t.Context(), record); err != nil {
					t.Fatalf("%v\n%s", err, sh(t, c.list))
				}
			}
			if err := Dismiss(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			if after := sh(t, c.list); after != before {
				t.Errorf("the rules were\n%s\nand are\n%s", before, after)
			}
			if left := sh(t, "ip -o link"); strings.Contains(left, "probe") {
				t.Errorf("a cable is left:\n%s", left)
			}
			if err := Dismiss(t.Context(), record); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestAdmitSaysWhatToDo has a firewall that no program opens.
func TestAdmitSaysWhatToDo(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	bridgeUp(t)
	known := firewalls
	defer func() { firewalls = known }()
	asked := []string{}
	firewalls = []firewall{{"sh", func(context.Context) error { asked = append(asked, "sh"); return nil }, nil}}
	sh(t, "iptables -P FORWARD DROP")
	err := Admit(t.Context(), host.Record(filepath.Join(t.TempDir(), "firewall.json")))
	want := "a firewall of this machine drops packets from node to node: have it accept what comes from labbr0 or goes there"
	if err == nil || err.Error() != want || len(asked) != 1 {
		t.Errorf("got %v after asking %q, want %q", err, asked, want)
	}
}

// TestUpKeepsOtherRoutes is on a machine that is a node of another Kubernetes.
func TestUpKeepsOtherRoutes(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	bridgeUp(t)
	bridgeUp(t) // its own routes are no other's
	sh(t, "ip link delete labbr0; ip link add cni0 type bridge; ip link set cni0 up; ip route add 10.244.21.0/24 dev cni0; ip route add 10.0.0.0/8 dev cni0")
	err := Up(t.Context(), "test", []Endpoint{Worker(1)})
	if err == nil || !strings.Contains(err.Error(), "there is a route into 10.244.0.0/16") || !strings.Contains(err.Error(), "dev cni0") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if routes := sh(t, "ip route show 10.244.21.0/24"); !strings.Contains(routes, "cni0") {
		t.Errorf("the route is %q now", routes)
	}
}
