package kubeadm

import "testing"

func TestLastError(t *testing.T) {
	const job = `[ERROR CreateJob]: Job "upgrade-health-check-1795376960739" in the namespace "kube-system" did not complete in 1m0s: no condition of type Complete`
	for name, test := range map[string]struct{ output, want string }{
		"kubeadm's checks": { // as kubeadm 1.36 prints it
			"[upgrade] Running cluster health checks\n[preflight] Some fatal errors occurred:\n\t" + job + "\n[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`\nerror: error execution phase preflight: preflight checks failed\nTo see the stack trace of this error execute with --v=5 or higher\n",
			job,
		},
		"two of them":         {"\t[ERROR A]: one\n\t[ERROR B]: two\nerror: x\n", "[ERROR A]: one; [ERROR B]: two"},
		"an error and advice": {"[upgrade] waiting\nerror: timed out\nTo see the stack trace of this error execute with --v=5 or higher\n", "error: timed out"},
		"no error":            {"one\ntwo\n", "two"},
		"nothing":             {"", ""},
	} {
		if got := lastError(test.output); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
