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

// programs are those in the image, and modules those of them that are modules of their own.
var (
	programs = []string{"agent", "capi-extension", "coordinator", "node-agent", "send-notice"}
	modules  = []string{"capi-extension"}
)

// flags are those with which the programs are built, and buildEnvironment is the
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

// command returns the command that builds the programs, as a person types it.
func (b build) command(architecture string) string {
	flags := b.flags()
	flags[len(flags)-1] = "'" + flags[len(flags)-1] + "'"
	words := slices.Concat(buildEnvironment(architecture), []string{"go", "build"}, flags)
	for _, name := range programs {
		if !slices.Contains(modules, name) {
			words = append(words, "./cmd/"+name)
		}
	}
	for _, name := range modules {
		words = slices.Concat(words, []string{"&&"}, buildEnvironment(architecture), []string{"go", "build", "-C", "cmd/" + name}, flags, []string{"."})
	}
	return strings.Join(words, " ")
}

// programs builds the programs for an architecture into the folder dir, and returns their
// paths by those in the image.
func (b build) programs(ctx context.Context, architecture, dir string) (map[string]string, error) {
	built := map[string]string{}
	for _, name := range programs {
		path, err := b.program(ctx, name, architecture, dir)
		if err != nil {
			return nil, err
		}
		built["/"+name] = path
	}
	return built, nil
}

func (b build) program(ctx context.Context, name, architecture, dir string) (string, error) {
	out, err := filepath.Abs(filepath.Join(dir, name+"_linux_"+architecture))
	if err != nil {
		return "", err
	}
	folder, pkg := b.source, "./cmd/"+name
	if slices.Contains(modules, name) {
		folder, pkg = filepath.Join(b.source, "cmd", name), "."
	}
	args := slices.Concat([]string{"build"}, b.flags(), []string{"-o", out, pkg})
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the flags are above
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), buildEnvironment(architecture)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build for %s: %w\n%s", architecture, err, text)
	}
	return out, nil
}
