package cli_test

import (
	"strings"
	"testing"
)

// TestTemplatesThatFail checks that nothing is printed of a format that fails, and that the error is
// without the object as Go writes it.
func TestTemplatesThatFail(t *testing.T) {
	for format, want := range map[string]string{
		"jsonpath={.plugin[-100]}":       "error: -o jsonpath={.plugin[-100]}: error executing jsonpath",
		"jsonpath={end}":                 "not in range, nothing to end\n",
		"go-template=a{{index .go 100}}": "error calling index: index out of range: 100\n",
	} {
		out, errOut, code := offline(t, "version", "--client", "-o", format)
		if out != "" || code != 1 || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 || strings.Contains(errOut, "map[string]") {
			t.Errorf("-o %s: got exit code %d, %q and %q", format, code, out, errOut)
		}
	}
}

// TestTemplateFlag checks kubectl's --template, which has an effect or is refused.
func TestTemplateFlag(t *testing.T) {
	for _, verb := range []string{"version --client", "report v1.35.4 --snapshot " + savedSnapshot} {
		if out, errOut, code := offline(t, append(strings.Fields(verb), "--template", "{{.kind}}!")...); code != 0 || !strings.HasSuffix(out, "!") || strings.Contains(out, "\n") {
			t.Errorf("%s: got exit code %d, %.100q and %s", verb, code, out, errOut)
		}
		refused(t, "--template: -o json has no template", append(strings.Fields(verb), "-o", "json", "--template", "x")...)
	}
	if out, _, code := offline(t, "version", "--client", "-o", "jsonpath", "--template", "{.kind}"); out != "UpgradeVersion" || code != 0 {
		t.Errorf("-o jsonpath: got exit code %d and %q", code, out)
	}
}

// TestDevicesAreNoFiles checks what kubectl's own code would read until the memory is full.
func TestDevicesAreNoFiles(t *testing.T) {
	for args, by := range map[string]string{
		"version --kubeconfig /dev/zero": "--kubeconfig", "status --certificate-authority /dev/zero": "--certificate-authority", "status --client-key /dev/zero": "--client-key",
		"status --client-certificate /dev/zero": "--client-certificate", "version --client -o jsonpath-file=/dev/zero": "--output", "version --client -o go-template-file=/dev/zero": "--output",
		"version --client -o templatefile=/dev/zero": "--output", "plan --snapshot /dev/zero": "--snapshot", "report --snapshot=/dev/zero": "--snapshot", "version --client -o go-template-file --template /dev/zero": "--template",
	} {
		refused(t, by+" names /dev/zero, which is a device and no file", strings.Fields(args)...)
	}
	if _, errOut, code := offline(t, "version", "--client", "-o", "go-template-file=/dev/null", "--kubeconfig=/dev/null"); code != 0 {
		t.Errorf("/dev/null: got exit code %d and %s", code, errOut)
	}
	t.Setenv("KUBECONFIG", "/no/such/file:/dev/zero")
	refused(t, "$KUBECONFIG names /dev/zero", "status")
}
