package source_test

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
)

// FuzzParse checks that each offer has an image with a hash below the source's address.
func FuzzParse(f *testing.F) {
	hash := strings.Repeat("a", 64)
	f.Add(hash + "  kubernetes-v1.34.4-x86-64.raw\n" + hash + "  kubernetes-v1.35.0-rc.1-arm64.raw\n")
	f.Add(hash + "  kubernetes-v1.34.4-x86-64.raw\nnot an index\n")
	f.Fuzz(func(t *testing.T, index string) {
		const base = "https://x/y/"
		s := source.Parse(base, index)
		if len(s.Offers) == 0 && s.Problem.Reason == "" {
			t.Error("there are no offers, and no reason")
		}
		for _, offer := range s.Offers {
			file, below := strings.CutPrefix(offer.Image.URL, base)
			if !below || strings.Contains(file, "/") || !strings.HasPrefix(string(offer.Image.Digest), "sha256:") {
				t.Errorf("%+v is on offer", offer)
			}
		}
	})
}
