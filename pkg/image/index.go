package image

import (
	"fmt"
	"regexp"
	"strings"
)

// IndexName is the name of the file that lists the images' hashes, beside them.
const IndexName = "SHA256SUMS"

// SignatureName is the name of the file with the index's detached OpenPGP signature.
const SignatureName = IndexName + ".gpg"

// IndexSize is how many bytes an index may have at most.
const IndexSize = 4 << 20

// indexLine matches the lines that sha256sum writes, in text or in binary mode.
var indexLine = regexp.MustCompile(`^([0-9a-fA-F]{64}) [ *]?(\S+)$`)

// ParseIndex returns the SHA-256, in lower-case hex, of each Kubernetes image that the
// index lists, by the file's name. It ignores other files. A line that is not a hash and
// a name makes the whole index invalid: it may be truncated, or not an index. Errors
// include the address.
func ParseIndex(address, text string) (map[string]string, error) {
	sums, number := map[string]string{}, 0
	for row := range strings.Lines(text) {
		number++
		if row = strings.TrimRight(row, "\r\n"); row == "" {
			continue
		}
		m := indexLine.FindStringSubmatch(row)
		if m == nil {
			return nil, fmt.Errorf("line %d of %s is not a sha256 and a file's name: %.80q", number, address, row)
		}
		sum, file := strings.ToLower(m[1]), m[2]
		if !strings.HasPrefix(file, "kubernetes-") || !strings.HasSuffix(file, ".raw") {
			continue
		}
		if other, twice := sums[file]; twice && other != sum {
			return nil, fmt.Errorf("%s lists %.80s with two hashes", address, file)
		}
		sums[file] = sum
	}
	return sums, nil
}
