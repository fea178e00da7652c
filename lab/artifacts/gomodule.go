package artifacts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// goEnv makes programs that run in any image, and whose bytes do not depend
// on where they were built. It decides which entries of Go's build cache can
// be used again, so every build here has the same.
var goEnv = []string{"GOFLAGS=-mod=mod -trimpath -buildvcs=false", "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH=" + runtime.GOARCH}

// fastEnv has the compiler collect its garbage later. It takes a quarter less time, and
// 600 MB for the largest packages.
var fastEnv = []string{"GOGC=400", "GOMEMLIMIT=1536MiB"}

// goModule is a small module whose only use is to build programs of others at
// the versions that it requires.
type goModule struct {
	cache *Cache
	name  string // "kubernetes-v1.34.4": folder below build/, and name of the log
}

func (m goModule) dir() string { return filepath.Join(m.cache.Dir, "build", m.name) }

// run runs go. Lines of its standard error that take returns true for are not logged.
func (m goModule) run(ctx context.Context, take func(line string) bool, args ...string) (string, error) {
	return m.cache.run(ctx, command{log: m.name, dir: m.dir(), env: slices.Concat(goEnv, fastEnv), take: take, args: append([]string{"go"}, args...)})
}

// prepare writes go.mod and the given sources, and resolves what they import.
// requires and replaces are "path@version" and "path=path@version".
func (m goModule) prepare(ctx context.Context, sources map[string]string, requires, replaces []string) error {
	if err := os.MkdirAll(m.dir(), 0o755); err != nil {
		return err
	}
	path, _, _ := strings.Cut(m.name, "-v")
	sources["go.mod"] = "module lab/" + path + "\n"
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(m.dir(), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	edit := []string{"mod", "edit", "-go=1.24"}
	for _, one := range requires {
		edit = append(edit, "-require="+one)
	}
	for _, one := range replaces {
		edit = append(edit, "-replace="+one)
	}
	// -e, as tests of what is imported may need modules that cannot be had together. What a
	// program needs itself is missed when it is built.
	for _, args := range [][]string{edit, {"mod", "tidy", "-e"}} {
		if _, err := m.run(ctx, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// build writes each package's program into dir, under the package's last
// name. One call for all compiles what they share once.
func (m goModule) build(ctx context.Context, dir string, ldflags string, packages ...string) error {
	compilation, err := m.compilation(ctx, packages)
	if err != nil {
		return err
	}
	_, err = m.run(ctx, compilation.line, append([]string{"build", "-v", "-ldflags", ldflags, "-o", dir + "/"}, packages...)...)
	return err
}

// program builds a program of the lab's own from its only source file, and returns its
// folder.
func (c *Cache) program(ctx context.Context, name, source string) (string, error) {
	return c.obtain(artifact{
		name:   name,
		recipe: append([]string{source}, goEnv...),
		step:   name + " (compiling)",
		build: func(dir string) error {
			module := goModule{cache: c, name: name}
			if err := module.prepare(ctx, map[string]string{"main.go": source}, nil, nil); err != nil {
				return err
			}
			return module.build(ctx, dir, "-s -w", ".")
		},
	})
}

// source downloads a module and returns the folder of its sources.
func (m goModule) source(ctx context.Context, module string) (string, error) {
	if err := os.MkdirAll(m.dir(), 0o755); err != nil {
		return "", err
	}
	out, err := m.run(ctx, nil, "mod", "download", "-json", module)
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &downloaded); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	return downloaded.Dir, nil
}

// imports is a source file that exists to name programs, so that go.mod
// covers them. Its build tag keeps it out of every build.
func imports(packages []string) map[string]string {
	var text strings.Builder
	text.WriteString("//go:build tools\n\npackage tools\n\nimport (\n")
	for _, one := range packages {
		fmt.Fprintf(&text, "\t_ %q\n", one)
	}
	text.WriteString(")\n")
	return map[string]string{"tools.go": text.String()}
}
