package apitest

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// assetsVariable lists the folders in which the programs are looked for.
const assetsVariable = "KUBE_ASSETS"

// labCache is where the lab keeps what it has built.
const labCache = "/var/cache/kubectl-upgrade-lab"

// Program returns the path of etcd, kube-apiserver or kubectl.
func Program(name string) (string, error) {
	folders := filepath.SplitList(os.Getenv(assetsVariable))
	if len(folders) == 0 {
		folders = cached(name)
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("looking for %s in %s and in %s: not there; `make assets` builds it, `make test` does that by itself", name, assetsVariable, labCache)
}

// cached are the lab's folders that may hold the program, oldest version
// first: what the oldest API server takes, the newer ones take too.
func cached(name string) []string {
	pattern := "kubernetes-v*-programs-*"
	if name == "etcd" {
		pattern = "etcd-v*"
	}
	folders, _ := filepath.Glob(filepath.Join(labCache, pattern)) // its only error is a bad pattern
	sort.Strings(folders)
	return folders
}
