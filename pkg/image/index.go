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
var indexLine = regexp.MustCompile(`^([0-9a-fA-F]{64}) [ *](.+)$`)

// maxName is how many bytes a file's name may have (NAME_MAX).
const maxName = 255

// ParseIndex returns the SHA-256, in lower-case hex, of each Kubernetes image that the
// index lists, by the file's name. It ignores other files. It refuses the whole index for the
// lines for which systemd-sysupdate does (systemd, sysupdate-resource.c, resource_load_from_web):
// comments, empty lines, names with a folder, a last line without its end. Errors include the
// address and the line.
func ParseIndex(address, text string) (map[string]string, error) {
	sums, number := map[string]string{}, 0
	for row := range strings.Lines(text) {
		number++
		sum, file, problem := parseLine(row)
		if problem != "" {
			return nil, fmt.Errorf("line %d of %s %s, and systemd-sysupdate refuses the whole index for that: %.120q", number, address, problem, strings.TrimSuffix(row, "\n"))
		}
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

// parseLine returns the hash and the file's name of a line with its end, or what is wrong with it.
func parseLine(row string) (sum, file, problem string) {
	line, ended := strings.CutSuffix(row, "\n")
	found := indexLine.FindStringSubmatch(line)
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case found == nil:
		return "", "", "is not a sha256 and a file's name"
	case strings.ContainsFunc(found[2], isControl):
		return "", "", "has a control character (such as that of Windows' line ends)"
	case strings.Contains(found[2], "/"), found[2] == ".", found[2] == "..", len(found[2]) > maxName:
		return "", "", "names no file beside the index (`sha256sum kubernetes-*.raw`, without ./ and folders, writes it right)"
	case !ended:
		return "", "", "has no end: the file may be cut off"
	}
	return strings.ToLower(found[1]), found[2], ""
}
