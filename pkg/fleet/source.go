package fleet

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// Source is the index of images as it was last read.
type Source struct {
	Offers []Offer `json:"offers,omitempty"`
	// Problem is why the index is missing or incomplete: SourceUnavailable, SourceEmpty
	// or SourceInvalid. Offers are valid even so.
	Problem Hold `json:"problem,omitzero"`
}

// Offer is an image of one version for one architecture.
type Offer struct {
	Version string         `json:"version"`
	Image   v1alpha1.Image `json:"image"`
}

// Architectures returns the architectures for which the version is on offer. Nil: that
// is not known, because the index is missing or incomplete.
func (s Source) Architectures(version string) []string {
	if s.Problem.Reason != "" {
		return nil
	}
	list := []string{}
	for _, image := range s.Images(version) {
		list = append(list, image.Architecture)
	}
	return list
}

// Images returns the offered images of that version, one for each architecture.
func (s Source) Images(version string) []v1alpha1.Image {
	var images []v1alpha1.Image
	for _, offer := range s.Offers {
		if offer.Version == version {
			images = append(images, offer.Image)
		}
	}
	return images
}
