package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var (
	// line is what sha256sum writes, in text or in binary mode.
	line = regexp.MustCompile(`^([0-9a-fA-F]{64}) [ *]?(\S+)$`)
	// image is how Flatcar's sysext-bakery names its Kubernetes images.
	image = regexp.MustCompile(`^kubernetes-(.+)-(x86-64|arm64)\.raw$`)
	// architectures are Kubernetes' names of those that are in the images' names.
	architectures = map[string]string{"x86-64": "amd64", "arm64": "arm64"}
)

// Parse reads an index. base is the address that the images' names are relative
// to, with a slash at its end. Files that are no Kubernetes images are passed
// over.
func Parse(base, index string) fleet.Source {
	var s fleet.Source
	hashes := map[string]string{}
	for i, text := range strings.Split(index, "\n") {
		text = strings.TrimRight(text, "\r")
		if text == "" {
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			return invalid("line %d of %s is not a sha256 and a file's name: %q", i+1, base+Index, shorten(text))
		}
		hash, name := strings.ToLower(m[1]), m[2]
		if other, twice := hashes[name]; twice && other != hash {
			return invalid("%s lists %s with two hashes", base+Index, shorten(name))
		}
		if _, twice := hashes[name]; twice || !strings.HasPrefix(name, "kubernetes-") || !strings.HasSuffix(name, ".raw") {
			continue
		}
		hashes[name] = hash
		offer, err := parseName(name)
		if err != nil {
			s.Problem = invalid("%s: %v", base+Index, err).Problem
			continue
		}
		offer.Image.URL, offer.Image.Digest = base+name, v1alpha1.DigestOf(hash)
		s.Offers = append(s.Offers, offer)
	}
	if len(s.Offers) == 0 && s.Problem.Reason == "" {
		s.Problem = fleet.Hold{Reason: v1alpha1.ReasonSourceEmpty, Message: fmt.Sprintf("%s lists no Kubernetes image", base+Index)}
	}
	slices.SortFunc(s.Offers, func(a, b fleet.Offer) int { return strings.Compare(a.Image.URL, b.Image.URL) })
	return s
}

// parseName takes version and architecture from an image's name.
func parseName(name string) (fleet.Offer, error) {
	m := image.FindStringSubmatch(name)
	if m == nil {
		return fleet.Offer{}, fmt.Errorf("%q is not kubernetes-VERSION-ARCHITECTURE.raw", shorten(name))
	}
	v, err := version.Parse(m[1])
	if err != nil || v.String() != m[1] {
		return fleet.Offer{}, fmt.Errorf("%q of %s is not a version such as v1.34.4", shorten(m[1]), shorten(name))
	}
	return fleet.Offer{Version: v.String(), Image: v1alpha1.Image{Architecture: architectures[m[2]]}}, nil
}

func invalid(format string, args ...any) fleet.Source {
	return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf(format, args...)}}
}

// shorten keeps what a stranger's server sent within what a message can hold.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
