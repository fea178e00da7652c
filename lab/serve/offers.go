package serve

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/mod/semver"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

const (
	filePrefix = "kubernetes-v"
	hashSuffix = ".sha256"
)

// fileSuffix is that of images for this machine.
var fileSuffix = "-" + image.SystemdArchitecture(runtime.GOARCH) + ".raw"

// Offer is one image that the image server has.
type Offer struct {
	// Version has no leading v: "1.34.4".
	Version string
	// File is the name under which it is offered.
	File string
	// SHA256 is what SHA256SUMS says of it, in hex.
	SHA256 string
}

// PublishOptions make an offer wrong, for tests.
type PublishOptions struct {
	// Corrupt serves bytes that differ from what SHA256SUMS promises.
	Corrupt bool
}

func offersDir(stateDir string) string { return filepath.Join(stateDir, "offers") }

func fileName(version string) string { return image.Name("v"+version, runtime.GOARCH) }

// Publish offers the image at imagePath as version, such as "1.34.4". That it
// holds this version is not checked, as a test may publish a wrong one. Publishing
// a version again replaces it. The image must stay where it is while it is on offer.
func Publish(stateDir, imagePath, version string, options PublishOptions) error {
	if err := publish(stateDir, imagePath, version, options); err != nil {
		return fmt.Errorf("publishing Kubernetes %s: %w", version, err)
	}
	return nil
}

// publish puts the image in place before the hash: only with its hash is it
// on offer.
func publish(stateDir, imagePath, version string, options PublishOptions) error {
	if strings.HasPrefix(version, "v") || !semver.IsValid("v"+version) {
		return fmt.Errorf("%q is not a version: write it as 1.34.4", version)
	}
	imagePath, err := filepath.Abs(imagePath)
	if err != nil {
		return err
	}
	hash, err := hashFile(imagePath)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(offersDir(stateDir), 0o755); err != nil {
		return err
	}
	target := filepath.Join(offersDir(stateDir), fileName(version))
	if options.Corrupt {
		err = corruptCopy(imagePath, target)
	} else {
		err = renameio.Symlink(imagePath, target)
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(target+hashSuffix, []byte(hash), 0o644)
}

// Withdraw ends the offer. It is not an error if there is none.
func Withdraw(stateDir, version string) error {
	target := filepath.Join(offersDir(stateDir), fileName(version))
	for _, name := range []string{target + hashSuffix, target} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("withdrawing Kubernetes %s: %w", version, err)
		}
	}
	return nil
}

// Offers lists what is published, oldest version first.
func Offers(stateDir string) ([]Offer, error) {
	hashes, err := filepath.Glob(filepath.Join(offersDir(stateDir), filePrefix+"*"+fileSuffix+hashSuffix))
	if err != nil {
		return nil, fmt.Errorf("listing the offers: %w", err)
	}
	offers := make([]Offer, 0, len(hashes))
	for _, name := range hashes {
		hash, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // withdrawn since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("listing the offers: %w", err)
		}
		file := strings.TrimSuffix(filepath.Base(name), hashSuffix)
		version := strings.TrimSuffix(strings.TrimPrefix(file, filePrefix), fileSuffix)
		offers = append(offers, Offer{Version: version, File: file, SHA256: string(hash)})
	}
	slices.SortFunc(offers, func(a, b Offer) int { return semver.Compare("v"+a.Version, "v"+b.Version) })
	return offers, nil
}

// formatIndex writes offers as sha256sum(1) does, which is what
// systemd-sysupdate reads.
func formatIndex(offers []Offer) string {
	var text strings.Builder
	for _, offer := range offers {
		fmt.Fprintf(&text, "%s  %s\n", offer.SHA256, offer.File)
	}
	return text.String()
}

func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// corruptCopy changes one bit in the middle: size and header stay as they are.
func corruptCopy(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return fmt.Errorf("%s is empty: there is nothing to corrupt", from)
	}
	content[len(content)/2] ^= 1
	return renameio.WriteFile(to, content, 0o644)
}
