//go:build !integration

package sysupdate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func confDir(t *testing.T, files map[string]string) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	if err := os.MkdirAll(l.At(host.ConfDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(l.At(host.ConfDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func of(line string) string { return strings.Replace(bakery, "v1.34", line, 1) }

func TestConfsConflict(t *testing.T) {
	tests := map[string]struct {
		files    map[string]string
		conflict bool
	}{
		"none":                         {nil, false},
		"one":                          {map[string]string{"kubernetes-v1.34.conf": of("v1.34")}, false},
		"two minors":                   {map[string]string{"kubernetes-v1.34.conf": of("v1.34"), "kubernetes-v1.35.conf": of("v1.35")}, true},
		"two of one minor":             {map[string]string{"kubernetes-v1.34.conf": of("v1.34"), "kubernetes.conf": of("v1.34")}, true},
		"conf and transfer, one minor": {map[string]string{"a.conf": of("v1.34"), "a.transfer": of("v1.34")}, false},
		"conf and transfer, two":       {map[string]string{"a.conf": of("v1.34"), "a.transfer": of("v1.35")}, true},
		"not understood":               {map[string]string{"a.conf": "[Transfer]\n"}, true},
		"masked":                       {map[string]string{"a.conf": "", "b.conf": of("v1.34")}, false},
		"others' files":                {map[string]string{"README": "two minors", ".b.conf": "temporary", "c.feature": "x"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Confs(confDir(t, test.files))
			if conflict := host.ReasonOf(err, "") == v1alpha1.ReasonConfConflict; conflict != test.conflict || (err != nil) != test.conflict {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSetConfs(t *testing.T) {
	want := func(line string) string {
		return Conf{Line: line, Source: "https://extensions.flatcar.org/extensions/kubernetes/", InstancesMax: 3}.Render()
	}
	tests := map[string]struct {
		before, after map[string]string
		line          string
		notes         int
	}{
		"none stays none": {nil, map[string]string{}, "v1.34", 0},
		"same minor":      {map[string]string{"kubernetes-v1.34.conf": of("v1.34")}, map[string]string{"kubernetes-v1.34.conf": want("v1.34")}, "v1.34", 0},
		"next minor":      {map[string]string{"kubernetes-v1.34.conf": of("v1.34")}, map[string]string{"kubernetes-v1.35.conf": want("v1.35")}, "v1.35", 1},
		"killed between text and name": {
			map[string]string{"kubernetes-v1.34.conf": want("v1.35")}, map[string]string{"kubernetes-v1.35.conf": want("v1.35")}, "v1.35", 0,
		},
		"a name of its own": {map[string]string{"k8s.transfer": of("v1.34")}, map[string]string{"k8s.transfer": want("v1.35")}, "v1.35", 1},
		"both suffixes": {
			map[string]string{"kubernetes-v1.34.conf": of("v1.34"), "kubernetes-v1.34.transfer": of("v1.34")},
			map[string]string{"kubernetes-v1.35.conf": want("v1.35"), "kubernetes-v1.35.transfer": want("v1.35")}, "v1.35", 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := confDir(t, test.before)
			for range 2 { // the second time changes nothing
				files, err := readConfs(l)
				if err != nil {
					t.Fatal(err)
				}
				_, notes, err := setConfs(l, files, test.line)
				if err != nil {
					t.Fatal(err)
				}
				if len(notes) != test.notes {
					t.Errorf("notes: %q", notes)
				}
				test.notes = 0
				if diff := cmp.Diff(test.after, contents(t, l)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func contents(t *testing.T, l host.Layout) map[string]string {
	t.Helper()
	files := map[string]string{}
	paths, _ := filepath.Glob(l.At(host.ConfDir, "*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = string(text)
	}
	return files
}
