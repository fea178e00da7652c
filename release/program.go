package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// flags are those with which the node agent is built, and buildEnvironment is the
// environment: what is built depends only on them, the source and the version of Go.
func (b build) flags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + b.version}
}

func buildEnvironment(architecture string) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	}
}

// command returns the command that builds the node agent, as a person types it.
func (b build) command(architecture string) string {
	flags := b.flags()
	flags[len(flags)-1] = "'" + flags[len(flags)-1] + "'"
	return strings.Join(slices.Concat(buildEnvironment(architecture), []string{"go", "build"}, flags, []string{"./cmd/node-agent"}), " ")
}

// program builds the node agent for an architecture into the folder dir, and returns
// its path.
func (b build) program(ctx context.Context, architecture, dir string) (string, error) {
	out, err := filepath.Abs(filepath.Join(dir, "node-agent_linux_"+architecture))
	if err != nil {
		return "", err
	}
	args := slices.Concat([]string{"build"}, b.flags(), []string{"-o", out, "./cmd/node-agent"})
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the flags are above
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), buildEnvironment(architecture)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build for %s: %w\n%s", architecture, err, text)
	}
	return out, nil
}
