package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWorkflows checks that each workflow names actions by their commit, which cannot be moved as
// they can a tag, and that a job which may write or has secrets checks out and compiles nothing.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("got workflows %v, %v", files, err)
	}
	commit := regexp.MustCompile(`^[\w-]+(/[\w-]+)+@[0-9a-f]{40}$`)
	compiles := regexp.MustCompile(`\b(go (build|run|install|test|tool)|make|npm|pip|cargo)\b`)
	guarded := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Environment string
				Steps       []struct {
					Uses, Run string
					Env       map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, job := range workflow.Jobs {
			permissions := job.Permissions
			if permissions == nil {
				permissions = workflow.Permissions
			}
			trusted := job.Environment != ""
			for _, right := range permissions {
				trusted = trusted || right == "write"
			}
			for _, step := range job.Steps {
				for _, value := range step.Env {
					trusted = trusted || strings.Contains(value, "secrets.")
				}
			}
			if trusted {
				guarded++
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !commit.MatchString(step.Uses) {
					t.Errorf("%s, job %s: %q does not name a commit", file, name, step.Uses)
				}
				if trusted && (compiles.MatchString(step.Run) || strings.HasPrefix(step.Uses, "actions/checkout@") || strings.HasPrefix(step.Uses, "actions/setup-")) {
					t.Errorf("%s: job %s has tokens, and compiles or checks out: %s%s", file, name, step.Uses, step.Run)
				}
			}
		}
	}
	if guarded != 1 {
		t.Errorf("%d jobs have tokens, want one, which publishes", guarded)
	}
}
