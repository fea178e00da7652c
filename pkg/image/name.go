package image

import (
	"fmt"
	"regexp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// fileName matches the name of an image's file. A version may contain a "-", so the
// architecture is what follows the last one.
var fileName = regexp.MustCompile(`^kubernetes-(.+)-(x86-64|arm64)\.raw$`)

// systemd has another name for amd64. File names use systemd's name, its specifier %a.
const (
	kubernetesAMD64 = "amd64"
	systemdAMD64    = "x86-64"
)

// SystemdArchitecture returns systemd's name of an architecture, which is given as
// Kubernetes names it.
func SystemdArchitecture(architecture string) string {
	if architecture == kubernetesAMD64 {
		return systemdAMD64
	}
	return architecture
}

// Name returns the name of the image's file, such as
// kubernetes-v1.34.4-x86-64.raw, for an architecture as Kubernetes names it: amd64
// or arm64.
func Name(version, architecture string) string {
	return "kubernetes-" + version + "-" + SystemdArchitecture(architecture) + ".raw"
}

// ParseName returns the version and the architecture, as Kubernetes names it, in
// the name of an image's file.
func ParseName(file string) (v version.Version, architecture string, err error) {
	m := fileName.FindStringSubmatch(file)
	if m == nil {
		return v, "", fmt.Errorf("%.80q is not kubernetes-VERSION-ARCHITECTURE.raw", file)
	}
	v, err = version.Parse(m[1])
	if err != nil || v.String() != m[1] {
		return version.Version{}, "", fmt.Errorf("%.80q of %.80s is not a version such as v1.34.4", m[1], file)
	}
	if architecture = m[2]; architecture == systemdAMD64 {
		architecture = kubernetesAMD64
	}
	return v, architecture, nil
}
