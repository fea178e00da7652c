package apitest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a program that a test needs. With -short, as `make check` runs tests,
// the test is skipped.
func Path(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("it needs %s", name)
	}
	path, err := Program(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Program returns the path of etcd, kube-apiserver or kubectl.
func Program(name string) (string, error) {
	folders := filepath.SplitList(os.Getenv("KUBE_ASSETS"))
	if len(folders) == 0 {
		folders = cached()
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("looking for %s in KUBE_ASSETS and the lab's cache: not there; `make assets` builds it, and `make test` does that by itself", name)
}

// cached are the folders that `make assets` fills, oldest version first: what
// the oldest API server takes, the newer ones take too.
func cached() []string {
	cache := cmp.Or(os.Getenv("LAB_CACHE"), "/var/cache/kubectl-upgrade-lab")
	folders, _ := filepath.Glob(filepath.Join(cache, "assets-v*")) // sorted; its only error is a bad pattern
	return folders
}
