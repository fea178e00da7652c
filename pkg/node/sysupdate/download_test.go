//go:build !integration

package sysupdate

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestExplain checks the reasons for error messages of systemd 257 and 262.
func TestExplain(t *testing.T) {
	failed := exec.CommandContext(t.Context(), "false").Run()
	image, err := host.NewImage("v1.34.4", "x86-64")
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]v1alpha1.Reason{
		"DOWNLOAD INVALID: Checksum of http://x/y file did not check out, file has been tampered with.\nExiting.\n(sd-pull-raw) failed with exit status 1: Bad message": v1alpha1.ReasonHashMismatch,
		"Checksum of downloaded resource does not match expected checksum, yikes.\nFailed to retrieve image file.\nExiting.":                                            v1alpha1.ReasonHashMismatch, // 262
		"DOWNLOAD INVALID: Signature verification failed.\nExiting.":                                                                                                    v1alpha1.ReasonSignatureInvalid,
		"Failed to write file: No space left on device\nExiting.":                                                                                                       v1alpha1.ReasonDiskFull,
		"Update '4' not found.":                                 v1alpha1.ReasonNotOffered,
		"Transfer failed: Couldn't connect to server\nExiting.": v1alpha1.ReasonSourceUnavailable,
		"Failed to retrieve image file.\nExiting.":              v1alpha1.ReasonSourceUnavailable,
		"Something new": v1alpha1.ReasonStageFailed,
	} {
		err := explain(failed, output, image, 1<<20)
		if got := host.ReasonOf(err, v1alpha1.ReasonStageFailed); got != want {
			t.Errorf("%q: %s, want %s", output, got, want)
		}
		if first, _, _ := strings.Cut(output, "\n"); !strings.Contains(err.Error(), first) {
			t.Errorf("got the message %q, want %q in it", err, first)
		}
	}
}

func TestParseSource(t *testing.T) {
	image, err := host.NewImage("v1.34.4", "x86-64")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://x/a/kubernetes-v1.34.4-x86-64.raw":           "https://x/a/",
		"http://10.88.0.1:8080/kubernetes-v1.34.4-x86-64.raw": "http://10.88.0.1:8080/",
		"https://x/a/kubernetes-v1.34.5-x86-64.raw":           "",
		"https://x/kubernetes-v1.34.4-x86-64.raw?a=b":         "",
		"file:///kubernetes-v1.34.4-x86-64.raw":               "",
		"kubernetes-v1.34.4-x86-64.raw":                       "",
		"":                                                    "",
	} {
		got, err := parseSource(address, image)
		if got.folder != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", address, got.folder, err)
		}
	}
}
