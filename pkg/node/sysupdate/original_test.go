//go:build !integration

package sysupdate

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestGiveBackAfterMinor checks that the publisher's definition comes back with its mode and
// time, and for the minor that the node runs now.
func TestGiveBackAfterMinor(t *testing.T) {
	l := node(t, "v1.34.4", relative("v1.34.4"))
	before := contents(t, l)["kubernetes-v1.34.conf"]
	file := l.At(host.ConfDir, "kubernetes-v1.34.conf")
	published := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, published, published); err != nil {
		t.Fatal(err)
	}
	if _, err := Disarm(l); err != nil {
		t.Fatal(err)
	}
	if contents(t, l)["kubernetes-v1.34.conf"] == before {
		t.Fatal("the definition is still the publisher's")
	}
	if _, err := Activate(t.Context(), l, args("v1.35.4"), host.ManifestsDir); err != nil {
		t.Fatal(err)
	}
	write(t, l, host.MergedVersionFile, "v1.35.4\n")
	for range 2 { // the second finds nothing to do
		if err := GiveBack(l); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"kubernetes-v1.35.conf": strings.ReplaceAll(before, "kubernetes-v1.34.", "kubernetes-v1.35.")}
		if diff := cmp.Diff(want, contents(t, l)); diff != "" {
			t.Fatalf("definitions (-want +got):\n%s", diff)
		}
		info, err := os.Stat(l.At(host.ConfDir, "kubernetes-v1.35.conf"))
		if err != nil || info.Mode().Perm() != 0o640 || !info.ModTime().Equal(published) {
			t.Errorf("%v %v", info, err)
		}
	}
}

// TestGiveBackLeavesForeign checks that a definition that a person has put in place of ours
// stays.
func TestGiveBackLeavesForeign(t *testing.T) {
	l := node(t, "v1.34.4", relative("v1.34.4"))
	if _, err := Disarm(l); err != nil {
		t.Fatal(err)
	}
	const own = "# mine\n" + bakery
	write(t, l, host.ConfDir+"/kubernetes-v1.34.conf", own)
	if err := GiveBack(l); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, l)["kubernetes-v1.34.conf"]; got != own {
		t.Errorf("got\n%s", got)
	}
}

// TestGiveBackLink checks that the symlink leads to the image that disarm would choose, where its
// publisher puts it, and that nothing is removed if there is none.
func TestGiveBackLink(t *testing.T) {
	for name, test := range map[string]struct {
		merged, link string
		change       func(host.Layout)
		want         string // the version; empty: an error
	}{
		"as it should be":    {"v1.34.3", relative("v1.34.3"), nil, "v1.34.3"},
		"a timer was ahead":  {"v1.34.3", "../.." + published("v1.34.4"), func(l host.Layout) { publish(t, l, "v1.34.4") }, "v1.34.3"},
		"somebody went back": {"v1.34.3", relative("v1.34.2"), nil, "v1.34.2"},
		"its file is gone":   {"v1.34.3", relative("v1.34.9"), nil, "v1.34.3"},
		"the kept file is empty": {"v1.34.3", relative("v1.34.3"), func(l host.Layout) {
			publish(t, l, "v1.34.3")
			write(t, l, absolute("v1.34.3"), "")
		}, "v1.34.3"},
		"what runs and the link's file are gone": {"v1.34.8", relative("v1.34.9"), nil, ""},
		"no image's name":                        {"v1.34.3", "../.." + host.KeptDir + "/mine.raw", func(l host.Layout) { write(t, l, host.KeptDir+"/mine.raw", "x") }, ""},
	} {
		l := node(t, test.merged, test.link)
		if test.change != nil {
			test.change(l)
		}
		err := giveBackImages(l)
		_, kept := os.Stat(l.At(host.KeptDir))
		if test.want == "" {
			if err == nil || kept != nil || linkTarget(t, l) != test.link {
				t.Errorf("%s: %v, %v; the symlink points to %s", name, err, kept, linkTarget(t, l))
			}
			continue
		}
		text, leads := os.ReadFile(l.At(host.Link))
		if err != nil || kept == nil || linkTarget(t, l) != "../.."+published(test.want) || leads != nil || string(text) != test.want {
			t.Errorf("%s: %v; the symlink points to %s with %q, %v; want %s", name, err, linkTarget(t, l), text, leads, test.want)
		}
	}
}
