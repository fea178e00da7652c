package source_test

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
)

// TestOffersFit checks that what an index offers fits into the statuses that list it: the longest name that is
// understood, in the folder with the longest address.
func TestOffersFit(t *testing.T) {
	address := "https://example.com/"
	for source.Check(v1alpha1.ImageSource{URL: address + "a/"}) == nil {
		address += "a/"
	}
	if len(address) < 1000 || len(address) > 2048 {
		t.Fatalf("addresses of %d characters are valid", len(address))
	}
	var index strings.Builder
	for n := range 300 {
		for _, architecture := range []string{"x86-64", "arm64", strings.Repeat("x", 200)} {
			if name := "kubernetes-v1.34.4+" + strings.Repeat("b", n) + "-" + architecture + ".raw"; len(name) <= 255 {
				index.WriteString(hash + "  " + name + "\n")
			}
		}
	}
	found := source.Parse(address, index.String())
	longest := 0
	for _, o := range found.Offers {
		longest = max(longest, len(o.Version))
		if len(o.Version) > 64 || len(o.Image.URL) > 2048 || len(o.Image.Digest) > 71 || o.Image.Architecture != "amd64" && o.Image.Architecture != "arm64" {
			t.Errorf("%+v does not fit", o)
		}
	}
	if longest != 64 {
		t.Errorf("the longest version has %d characters, so the limit was not tried", longest)
	}
}
