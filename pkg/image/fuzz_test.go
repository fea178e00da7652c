package image_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

var sum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Whatever a server sends, an index that is understood has hashes of files that have
// no folder, and a name that is understood is the only one of its image.
func FuzzIndex(f *testing.F) {
	hash := strings.Repeat("a", 64)
	f.Add(hash + "  kubernetes-v1.34.4-x86-64.raw\n" + hash + " *kubernetes-v1.34.4-arm64.raw\r\n")
	f.Add(hash + "  kubernetes-../../etc/passwd.raw")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, text string) {
		sums, err := image.ParseIndex("http://x/SHA256SUMS", text)
		if err != nil && sums != nil {
			t.Errorf("%v, and yet %v", err, sums)
		}
		for file, hash := range sums {
			if !sum.MatchString(hash) {
				t.Errorf("%q has the hash %q", file, hash)
			}
			v, architecture, err := image.ParseName(file)
			if err != nil {
				continue
			}
			if strings.ContainsAny(file, "/\\ \n\x00") || image.Name(v.String(), architecture) != file {
				t.Errorf("%q is %s for %s", file, v, architecture)
			}
		}
	})
}
