package fleet

import (
	"strings"
	"testing"
)

const head = "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: Fleet\n"

func TestReadFile(t *testing.T) {
	f, err := ReadFile([]byte(head + "stages:\n- name: dev\n  contexts: [\"dev-*\", lab]\n- name: prod\n  contexts: [\"prod-*\"]\n  labels: {region: eu}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(f.StageNames(), " "); names != "dev prod" || f.Stages[1].Labels["region"] != "eu" || f.Stages[0].Contexts[1] != "lab" {
		t.Errorf("got %+v", f)
	}
}

func TestReadFileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "it is empty",
		"kind: Fleet":      "it has no apiVersion kubectl-upgrade.dev/v1alpha1 with kind Fleet",
		head:               "stages: there is no stage",
		head + "stage: []": `line 3: unknown field "stage"`,
		head + "stages:\n- name: a\n  contexts: [a]\n  label: {}":                          `line 6: unknown field "stages[0].label"`,
		head + "stages:\n- contexts: [a]":                                                  "line 4: stages[0].name: is missing",
		head + "stages:\n- name: a":                                                        "line 4: stages[0]: stage a has no contexts",
		head + "stages:\n- name: a\n  contexts: a":                                         "line 5: stages[0].contexts: must be a list",
		head + "stages:\n- name: a\n  contexts: [1]":                                       "stages[0].contexts[0]",
		head + "stages:\n- name: a\n  contexts: [\"[\"]":                                   "line 5: stages[0].contexts[0]: \"[\" is no pattern",
		head + "stages:\n- name: a\n  contexts: [\"\"]":                                    "line 5: stages[0].contexts[0]: a context is empty",
		head + "stages:\n- name: a\n  contexts: [a]\n- name: a\n  contexts: [b]":           "line 6: stages[1].name: there are two stages a",
		head + "stages:\n- name: a\n  contexts: [a, b]\n- name: b\n  contexts:\n  - b":     "line 8: stages[1].contexts[0]: b is in stage a already",
		head + "stages:\n- name: a\n  contexts: [a]\nstages: []":                           "line 6: stages: is there twice",
		head + "stages:\n- name: a\n  contexts: [a]\n---\n" + head:                         "document 2, line 7: only one object was expected",
		strings.Replace(head, "Fleet", "Fleets", 1) + "stages: [{name: a, contexts: [a]}]": "with kind Fleet",
	} {
		if _, err := ReadFile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// FuzzReadFile checks that any file is either read or refused.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte(head + "stages: [{name: a, contexts: [a], labels: {b: c}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if file, err := ReadFile(text); err == nil && len(file.Stages) == 0 {
			t.Error("a file without stages was read")
		}
	})
}
