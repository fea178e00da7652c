package artifacts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackportsComeBeforeTheirRelease(t *testing.T) {
	options := func(rest ...string) []string {
		args := mmdebstrap("minbase", "", nil, "/root", "http://mirror")[:4]
		return append(args, rest...)
	}
	for base, want := range map[Base][]string{
		"":         options("--include=systemd,dbus", "trixie", "/root", "http://mirror"),
		"bookworm": options("--include=systemd,dbus", "bookworm", "/root", "http://mirror"),
		"bookworm-backports": options("--include=systemd,dbus", `--aptopt=APT::Default-Release "bookworm-backports";`, "bookworm", "/root",
			"deb http://mirror bookworm-backports main", "deb http://mirror bookworm main"),
	} {
		got := mmdebstrap("minbase", base, []string{"systemd", "dbus"}, "/root", "http://mirror")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", base, diff)
		}
	}
}

func TestAnUnknownBaseIsRefused(t *testing.T) {
	for _, base := range append(Bases(), "") {
		if err := Base(base).Validate(); err != nil {
			t.Error(err)
		}
	}
	if err := Base("jessie").Validate(); err == nil || !strings.Contains(err.Error(), "bookworm, bookworm-backports, sid, trixie") {
		t.Errorf("got %v", err)
	}
}

func TestContainerdOfABase(t *testing.T) {
	for _, test := range []struct {
		base        Base
		asked, want int // want 0: refused
	}{
		{"", 0, 1}, {"", 1, 1}, {"", 2, 2}, {"", 3, 0}, {"", -1, 0},
		{"sid", 0, 2}, {"sid", 2, 2}, {"sid", 1, 0},
	} {
		got, err := ContainerdMajor(test.base, test.asked)
		if got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%s, asked for %d: %d, %v", test.base, test.asked, got, err)
		}
	}
}

func TestSystemdIsReadFromTheRootFileSystem(t *testing.T) {
	root := t.TempDir()
	if _, err := Systemd(root); err == nil {
		t.Error("no root file system, and no error")
	}
	write(t, root, "var/lib/dpkg/status", "Package: libsystemd0\nVersion: 1\n\nPackage: systemd\nStatus: installed\nVersion: 257.9-1\n\nPackage: udev\nVersion: 2\n")
	if got, err := Systemd(root); got != "257.9-1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
