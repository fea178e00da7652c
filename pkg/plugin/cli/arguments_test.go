package cli_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Arguments that no cluster can make right are refused before a request is sent.
func TestBadArgumentsAreRefusedWithoutAnyRequest(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.NotFound(w, nil)
	}))
	defer server.Close()
	folder, kubeconfig := t.TempDir(), kubeconfigFor(t, server.URL)
	missing := filepath.Join(folder, "missing.yaml")
	run := func(args ...string) (string, int) {
		requests.Store(0)
		_, errOut, code := offline(t, append(args, "--kubeconfig", kubeconfig, "--cache-dir", folder)...)
		return errOut, code
	}
	for _, test := range []struct{ args, want string }{
		{"apply", "expected one VERSION, got 0"},
		{"apply banana", `VERSION "banana": expected a version`},
		{"apply v1.35.x", `VERSION "v1.35.x": expected a version`},
		{"apply 1", `VERSION "1": expected a version`},
		{"apply v1.35 -o banana", "-o banana: "},
		{"apply v1.35 -o jsonpath={", "-o jsonpath={: "},
		{"plan -o custom-columns", "-o custom-columns: there is no such format; "},
		{"plan -o custom-columns=", "-o custom-columns: must name columns, such as"},
		{"plan -o custom-columns=NODE:.name,step", `-o custom-columns: column "step" must be NAME:.path`},
		{"plan -o custom-columns=NODE:.name[", `-o custom-columns: column NODE: ".name[" is no path: `},
		{"report a -o custom-columns=a", `-o custom-columns: column "a" must be NAME:.path`},
		{"apply v1.35 -o go-template={{", "-o go-template={{: "},
		{"apply v1.35 --dry-run=banana", "--dry-run=banana: must be"},
		{"apply v1.35 --start-time banana", `--start-time="banana": must be a time`},
		{"apply v1.35 --start-time 1066-10-14", `--start-time="1066-10-14": must be in the years`},
		{"apply v1.35 --time-zone banana", "--time-zone=banana: must be an IANA name"},
		{"apply v1.35 --max-unavailable 0", "--max-unavailable=0: must be"},
		{"apply v1.35 --method banana", "--method=banana: must be Reboot, SoftReboot or Restart"},
		{"apply v1.35 --ignore-check banana", "--ignore-check=banana: there is no such check"},
		{"apply v1.35 --ignore-check pdb-blocks", "--ignore-check=pdb-blocks: say why"},
		{"apply v1.35 --ignore-check pdb-blocks=known --ignore-check bare-pod", "--ignore-check=bare-pod: say why"},
		{"apply v1.35 --timeout banana", "--timeout=banana: must be a duration"},
		{"apply v1.35 --timeout -1h", "--timeout=-1h: must not be negative"},
		{"apply v1.35 --timeout 1h --detach", "--timeout limits following"},
		{"apply v1.35 --reason " + strings.Repeat("x", 257), "--reason: the reason has 257 characters"},
		{"rollback --reason r", "which nodes are taken back: give their names, or --all"},
		{"rollback w1 --all --reason r", "NODE and --all cannot be combined"},
		{"rollback w1", "--reason is required"},
		{"reboot w1", "--reason is required"},
		{"reboot pod/a --reason r", `"pod/a" is no node: expected a name, or node/NAME`},
		{"reboot --reason r --method SoftReboot", "unknown flag: --method"},
		{"reboot " + strings.Repeat("w ", 33) + "--reason r", "33 nodes are named, and 32 is the most: name none"},
		{"rollback pod/a --reason r", `"pod/a" is no node: expected a name, or node/NAME`},
		{"rollback --all --reason r --to v1.34", "--to=v1.34: must be a version in full, such as v1.34.3"},
		{"rollback --all --reason r --method Restart", "--method=Restart: is for patches"},
		{"rollback --all --reason r --method restart", "--method=restart: must be Reboot, SoftReboot or Restart"},
		{"rollback " + strings.Repeat("w ", 33) + "--reason r", "33 nodes are named, and 32 is the most"},
		{"plan banana", `VERSION "banana": expected a version`},
		{"plan --at banana", `--at="banana": must be a time`},
		{"plan --time-zone banana", "--time-zone=banana: must be an IANA name"},
		{"plan -o banana", "-o banana: "},
		{"plan --snapshot a --save-snapshot b", "cannot be combined"},
		{"plan -f " + missing, "reading files: stat " + missing},
		{"status -o banana", "-o banana: "},
		{"status --timeout 1h", "--timeout limits --watch"},
		{"status --watch --timeout banana", "--timeout=banana: must be a duration"},
		{"status --watch -o json", "--watch is for people"},
		{"status --log", "--log requires a node"},
		{"status worker-1 --log -o json", "--log prints kubeadm's output as it is"},
		{"history -o banana", "-o banana: "},
		{"releases -o banana", "-o banana: "},
		{"version -o banana", "-o banana: "},
		{"windows -o banana", "-o banana: "},
		{"certificates -o name", "-o name: certificates have no names"},
		{"windows -o name", "-o name: openings have no names"},
		{"windows --from banana", `--from="banana": must be a time`},
		{"windows --until banana", `--until="banana": must be a time`},
		{"windows --from 2027-01-02 --until 2027-01-01", `--until="2027-01-01": must be later than --from`},
		{"windows --type banana", `--type: "banana" is not Patch, Minor, Reboot, Rollback or Certificates`},
		{"windows --count 0", "--count=0: must be 1 or more"},
		{"windows --node a --labels b=c", "--node asks the cluster for its labels"},
		{"windows --node a -f " + missing, "--node asks the cluster for its labels"},
		{"freeze --reason r", "either --until TIME or --for DURATION"},
		{"freeze --reason r --for 1h --until 2999-01-01", "either --until TIME or --for DURATION"},
		{"freeze --for 1h", "--reason is required"},
		{"freeze --reason r --for banana", "--for=banana: must be a duration"},
		{"freeze --reason r --until banana", `--until="banana": must be a time`},
		{"freeze --reason r --until 2001-01-01", `--until="2001-01-01": is in the past`},
		{"freeze --reason r --for 1h --upgrades banana", `--upgrades: "banana" is not Patch, Minor, Reboot, Rollback or Certificates`},
		{"freeze --reason r --for 1h --upgrades Patch --certificates", "--certificates blocks upgrades of every type: leave out --upgrades"},
		{"freeze --reason r --for 1h --node-selector a=b=c", "--selector=a=b=c: "},
		{"freeze --reason r --for 1h --time-zone banana", "--time-zone=banana: must be an IANA name"},
		{"freeze --reason r --for 1h --dry-run=banana", "--dry-run=banana: must be"},
		{"freeze --reason r --for 1h -o banana", "-o banana: "},
		{"status --request-timeout 1dx", "--request-timeout=1dx: must be a duration"},
		{"status --request-timeout soon", "--request-timeout=soon: must be a number of seconds, or a duration"},
		{"plan --time-zone utc", "such as Europe/Berlin; did you mean UTC?"},
		{"plan --time-zone new_york", "such as Europe/Berlin; did you mean America/New_York?"},
		{"windows --labels =b", "--labels: "},
		{"windows --labels pool=a/b", "--labels: "},
		{"freeze --reason r --for 1h -l a=b,a=c", "--selector=a=b,a=c: no node has two values of the label a"},
		{"apply v1.35 --ignore-check pdb-blocks=", "--ignore-check=pdb-blocks=: the reason is empty: perhaps a variable is not set"},
		{"freeze Not_A_Name --reason r --for 1h", "Not_A_Name"},
		{"unfreeze --dry-run=banana", "--dry-run=banana: must be"},
		{"unfreeze a b", "is one argument too many"},
		{"certificates renwe", "unknown command \"renwe\"; did you mean `kubectl upgrade certificates renew`?"},
		{"certificates renwe --reason yearly", "unknown command \"renwe\"; did you mean `kubectl upgrade certificates renew`?"},
		{"suspend node/w1", `"node/w1" is no ClusterUpgrade: expected a name, or clusterupgrade/NAME`},
		{"suspend clusterupgrade.apps/a", `"clusterupgrade.apps/a" is no ClusterUpgrade`},
		{"resume a b", `"b" is one argument too many; usage: kubectl upgrade resume [NAME]`},
		{"approve clusterupgrade/", `"clusterupgrade/" has no name: expected clusterupgrade/NAME`},
		{"report clusterupgrade/a/b", `"clusterupgrade/a/b" has no name`},
		{"history node/a", `"node/a" is no ClusterUpgrade`},
		{"status clusterupgrade/a", `"clusterupgrade/a" is no node: expected a name, or node/NAME`},
		{"windows --node pod/a", `--node: "pod/a" is no node`},
		{"freeze pod/a --reason r --for 1h", `"pod/a" is no freeze: expected a name, or maintenanceschedule/NAME`},
		{"abandon", "expected the name of one node, got 0"},
		{"abandon worker-1", "--reason is required"},
		{"abandon worker-1 --reason " + strings.Repeat("x", 257), "--reason: the reason has 257 characters"},
		{"status --color banana", "--color=banana: must be auto, always or never"},
	} {
		errOut, code := run(strings.Fields(test.args)...)
		if code != 1 || !strings.Contains(errOut, test.want) || requests.Load() > 0 {
			t.Errorf("%s: got %d requests and %q, want none and %s", test.args, requests.Load(), errOut, test.want)
		}
	}
	// The last, as some of its requests may arrive once it has failed.
	if errOut, code := run("apply", "v1.35.4"); code != 1 || requests.Load() == 0 {
		t.Fatalf("good arguments: got exit code %d, %s and %d requests, so that this test proves nothing", code, errOut, requests.Load())
	}
}
