package source

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// Parse reads an index. base is the address that the images' names are relative
// to, with a slash at its end.
func Parse(base, index string) fleet.Source {
	address := base + image.IndexName
	sums, err := image.ParseIndex(address, index)
	if err != nil {
		return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: err.Error()}}
	}
	if len(sums) == 0 {
		return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceEmpty, Message: fmt.Sprintf("%s lists no Kubernetes image", address)}}
	}
	var s fleet.Source
	for _, file := range slices.Sorted(maps.Keys(sums)) {
		v, architecture, err := image.ParseName(file)
		if err != nil {
			s.Problem = fleet.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf("%s: %v", address, err)}
			continue
		}
		s.Offers = append(s.Offers, fleet.Offer{
			Version: v.String(),
			Image:   v1alpha1.Image{Architecture: architecture, URL: base + file, Digest: v1alpha1.DigestOf(sums[file])},
		})
	}
	return s
}
