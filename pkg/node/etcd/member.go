package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// ErrNoMember is the error of Take on a node that runs no member of etcd.
var ErrNoMember = errors.New("no member of etcd runs on this node as a static pod of kubeadm (there is no " +
	host.ManifestsDir + "/etcd.yaml), as with an external etcd: its snapshot cannot be taken here. " +
	"Take one where etcd runs, and set strategy.etcdSnapshot to Skip")

// member is the node's own member, according to its manifest.
type member struct {
	// endpoint is where it serves clients on the loopback interface.
	endpoint string
	// pki is the folder of etcd's certificates.
	pki string
}

// The defaults of kubeadm 1.34 (phases/etcd/local.go).
const (
	defaultEndpoint = "https://127.0.0.1:2379"
	defaultPKI      = "/etc/kubernetes/pki/etcd"
)

// findMember reads the manifest of the node's member. It returns nil if there is none. The
// certificatesDir and the address family may differ from the defaults.
func findMember(l host.Layout) (*member, error) {
	data, err := os.ReadFile(l.At(host.ManifestsDir, "etcd.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading etcd's manifest: %w", err)
	}
	var pod struct {
		Spec struct {
			Containers []struct {
				Name    string
				Command []string
				Args    []string
			}
		}
	}
	if err := yaml.Unmarshal(data, &pod); err != nil {
		return nil, fmt.Errorf("decoding etcd's manifest: %w", err)
	}
	found := &member{endpoint: defaultEndpoint, pki: defaultPKI}
	for _, c := range pod.Spec.Containers {
		if c.Name == "etcd" {
			found.read(slices.Concat(c.Command, c.Args))
		}
	}
	return found, nil
}

func (m *member) read(command []string) {
	for _, arg := range command {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--trusted-ca-file":
			m.pki = filepath.Dir(value)
		case "--listen-client-urls":
			for url := range strings.SplitSeq(value, ",") {
				if strings.Contains(url, "//127.0.0.1:") || strings.Contains(url, "//[::1]:") {
					m.endpoint = url
				}
			}
		}
	}
}
