package artifacts

import (
	"fmt"
	"net/url"
	"path"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	bakery "github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// Origin is where Kubernetes is published. The zero value means that it is compiled
// from its sources.
type Origin struct {
	mirror *url.URL // nil: the projects' own hosts
	used   bool
}

// ParseOrigin reads what `lab up --from` is given: "upstream", or the address of a
// mirror, below which each host is a folder. Empty: Kubernetes is compiled.
func ParseOrigin(from string) (Origin, error) {
	switch from {
	case "":
		return Origin{}, nil
	case "upstream":
		return Origin{used: true}, nil
	}
	mirror, err := url.Parse(from)
	if err != nil || mirror.Scheme != "http" && mirror.Scheme != "https" || mirror.Host == "" || mirror.RawQuery != "" {
		return Origin{}, fmt.Errorf("%q is no origin of Kubernetes: write \"upstream\", or a mirror's address as https://mirror.example", from)
	}
	return Origin{mirror: mirror.JoinPath(), used: true}, nil
}

// program returns the address of a program. Its SHA-256 is beside it.
func (o Origin) program(version, program string) string {
	return o.address(fmt.Sprintf("https://dl.k8s.io/release/v%s/bin/linux/%s/%s", version, runtime.GOARCH, program))
}

// sysexts returns the address of the folder with the images of Flatcar's sysext-bakery
// and their index.
func (o Origin) sysexts() string { return o.address(bakery.Default) }

func (o Origin) sysext(version string) string {
	return o.sysexts() + image.Name("v"+version, runtime.GOARCH)
}

func (o Origin) address(upstream string) string {
	if o.mirror == nil {
		return upstream
	}
	return strings.TrimSuffix(o.mirror.String(), "/") + "/" + strings.TrimPrefix(upstream, "https://")
}

// image returns where a container image is pulled from.
func (o Origin) image(ref string) (name.Reference, error) {
	if o.mirror == nil {
		return name.ParseReference(ref, name.StrictValidation)
	}
	options := []name.Option{name.StrictValidation}
	if o.mirror.Scheme == "http" {
		options = append(options, name.Insecure)
	}
	return name.ParseReference(path.Join(o.mirror.Host, o.mirror.Path, ref), options...)
}
