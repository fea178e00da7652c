package artifacts

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// imageNames are the references that a kubeadm asks for.
type imageNames struct {
	// programs maps a program of Kubernetes to the image that runs it.
	programs             map[string]string
	etcd, coredns, pause string
}

func (c *Cache) imageNames(ctx context.Context, binDir, version string) (imageNames, error) {
	out, err := c.run(ctx, command{
		log:  "kubernetes-v" + version,
		args: []string{filepath.Join(binDir, "kubeadm"), "config", "images", "list", "--kubernetes-version", "v" + version},
	})
	if err != nil {
		return imageNames{}, fmt.Errorf("asking kubeadm for its images: %w", err)
	}
	return parseImageNames(out)
}

func parseImageNames(list string) (imageNames, error) {
	names := imageNames{programs: map[string]string{}}
	for _, ref := range strings.Fields(list) {
		switch repository := repositoryOf(ref); repository {
		case "etcd":
			names.etcd = ref
		case "coredns":
			names.coredns = ref
		case "pause":
			names.pause = ref
		default:
			names.programs[repository] = ref
		}
	}
	if names.etcd == "" || names.coredns == "" || names.pause == "" || len(names.programs) != 4 {
		return imageNames{}, fmt.Errorf("kubeadm names other images than this lab can make:\n%s", list)
	}
	return names, nil
}

// etcdVersion is 3.6.5 for etcd:3.6.5-0: the image's own revision follows.
func (n imageNames) etcdVersion() string {
	version, _, _ := strings.Cut(tagOf(n.etcd), "-")
	return version
}

// corednsVersion is 1.12.1 for coredns:v1.12.1.
func (n imageNames) corednsVersion() string { return strings.TrimPrefix(tagOf(n.coredns), "v") }

func repositoryOf(ref string) string {
	repository, _, _ := strings.Cut(path.Base(ref), ":")
	return repository
}

func tagOf(ref string) string { return ref[strings.LastIndex(ref, ":")+1:] }
