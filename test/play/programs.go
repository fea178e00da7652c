package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// serversModule names the programs to compile, and their versions.
const serversModule = "test/play/servers"

// serversVersion is what the programs say that they are, as the nodes do. They are those of Kubernetes
// v1.37.2, which needs modules that kubectl-upgrade is compiled with, too.
const serversVersion = "v1.34.3"

// programs are the folders that have etcd, kube-apiserver and kubectl, as in PATH.
type programs []string

// path returns the path of a program.
func (p programs) path(name string) (string, error) {
	for _, folder := range p {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is in none of %s", name, strings.Join(p, ", "))
}

// obtain returns the programs: those that `make assets` has built, or else its own, which it compiles the
// first time.
func obtain(ctx context.Context, s *screen) (programs, error) {
	have := programs(filepath.SplitList(os.Getenv("KUBE_ASSETS")))
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		have = append(have, filepath.Dir(kubectl))
	}
	wanted := []string{"kube-apiserver", "etcd", "kubectl"}
	if missing(have, wanted) == nil {
		return have, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("looking for the cache of this user: %w", err)
	}
	goMod, err := os.ReadFile(filepath.Join(serversModule, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(goMod, runtime.GOOS+runtime.GOARCH...))
	folder := filepath.Join(cache, "kubectl-upgrade", fmt.Sprintf("servers-%x", sum[:4]))
	have = append(have, folder)
	if missing(have, wanted) == nil {
		return have, nil
	}
	unlock, err := lock(ctx, s, folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if lacking := missing(have, wanted); lacking != nil { // no other run has compiled them meanwhile
		if err := compile(ctx, s, folder, lacking); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// missing returns the programs that are in none of the folders.
func missing(have programs, wanted []string) (lacking []string) {
	for _, name := range wanted {
		if _, err := have.path(name); err != nil {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// lock keeps two of these programs from compiling at once. The kernel frees it when this one ends.
func lock(ctx context.Context, s *screen, folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	file, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	for said := false; ; said = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if !said {
			s.say("Another `make play` is compiling etcd and kube-apiserver: waiting for it.")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// compile compiles programs into the folder. Each is there as a whole or not at all.
func compile(ctx context.Context, s *screen, folder string, names []string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("etcd and kube-apiserver are compiled the first time, and there is no Go on the PATH: see https://go.dev/dl/")
	}
	s.say("Compiling %s once, into %s.\nOn two cores this takes up to 8 minutes, and downloads 200 MB the first time.", strings.Join(names, ", "), folder)
	partial, err := os.MkdirTemp(folder, ".partial-")
	if err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	defer os.RemoveAll(partial)
	packages := []string{}
	for _, name := range names {
		packages = append(packages, packageOf(name))
	}
	began := time.Now()
	if err := goBuild(ctx, s, partial, packages); err != nil {
		return err
	}
	for _, name := range names {
		built := filepath.Join(partial, binaryOf(packageOf(name)))
		if err := os.Rename(built, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("compiling %s: %w", name, err)
		}
	}
	s.say("Compiled in %s.", time.Since(began).Round(time.Second))
	return nil
}

func packageOf(name string) string {
	if name == "etcd" {
		return "go.etcd.io/etcd/server/v3"
	}
	return "k8s.io/kubernetes/cmd/" + name
}

// binaryOf returns how `go build` names the program of a package.
func binaryOf(pkg string) string { return filepath.Base(strings.TrimSuffix(pkg, "/v3")) }

// goBuild runs go build, and says every half minute how far it is.
func goBuild(ctx context.Context, s *screen, to string, packages []string) error {
	const path = "k8s.io/component-base/version"
	ldflags := fmt.Sprintf("-s -w -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=34", path, serversVersion, path, path)
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-v", "-ldflags", ldflags, "-o", to + "/"}, packages...)...) //nolint:gosec // packages that are listed here
	cmd.Dir = serversModule
	// The compiler collects its garbage later: that takes a quarter less time.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0", "GOWORK=off", "GOGC=400", "GOMEMLIMIT=1536MiB")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	said := s.watchBuild(output)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("compiling etcd and kube-apiserver: %w: %s", err, why(said))
	}
	return nil
}

// watchBuild reads the names of packages as they are compiled, and returns all other lines.
func (s *screen) watchBuild(output io.Reader) (said []string) {
	packages, began, next := 0, time.Now(), time.Now().Add(30*time.Second)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		if strings.ContainsAny(line, " :") {
			said = append(said, line)
			continue
		}
		if packages++; time.Now().After(next) {
			next = time.Now().Add(30 * time.Second)
			s.say("  %d packages in %s", packages, time.Since(began).Round(time.Second))
		}
	}
	return said
}

// why returns the line that says why a build failed.
func why(said []string) string {
	for _, line := range said {
		if strings.Contains(line, "no space left") {
			return line
		}
	}
	return last(said)
}
