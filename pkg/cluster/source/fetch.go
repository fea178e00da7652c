// Package source reads which Kubernetes images are on offer, from the index in the folder
// where they are published.
//
// It promises:
//
//   - An index that has not changed is not downloaded again.
//   - An index with a line that is not a hash and a name offers no images at all: it may
//     be truncated, or not an index. A Kubernetes image whose name has no version is
//     skipped and reported; the others are valid.
//   - An index that cannot be read offers no images, even if it did before. Nor does an
//     index without a valid signature, if the policy has a keyring, or with an older one than
//     before.
//   - Only the index and its signature are downloaded.
package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image/signature"
)

// Default is where Flatcar's sysext-bakery publishes its Kubernetes images.
const Default = "https://extensions.flatcar.org/extensions/kubernetes/"

// timeout is how long reading the index may take.
const timeout = 30 * time.Second

// maxURL is how long the address of the folder may be, so that those of images fit into statuses.
const maxURL = 1900

// ownPort matches the local port in the error of a broken connection. It differs each
// time, and would make every status with the message change.
var ownPort = regexp.MustCompile(`\S+:\d+->`)

// Poller reads one index repeatedly. It is not safe for concurrent use.
type Poller struct {
	problem error // why the source is invalid
	base    string
	client  *http.Client
	keyring *signature.Keyring // nil: signatures are not required

	seen     bool // whether good belongs to etag and modified
	etag     string
	modified string
	good     clusterstate.Source
}

// NewPoller returns a Poller of the index at a source.
func NewPoller(source v1alpha1.ImageSource) *Poller {
	keyring, _ := keyringOf(source) // Check returns its error
	return &Poller{problem: Check(source), base: strings.TrimSuffix(source.URL, "/") + "/", client: client(source), keyring: keyring}
}

// client returns a client that follows no redirect from https to http, unless the
// source allows http.
func client(source v1alpha1.ImageSource) *http.Client {
	c := &http.Client{Timeout: timeout}
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		case r.URL.Scheme != "https" && source.TransportPolicy != v1alpha1.TransportAllowHTTP:
			return fmt.Errorf("the server redirects to %s, which can be changed on its way", r.URL)
		}
		return nil
	}
	return c
}

// Check returns an error if the source is invalid.
func Check(source v1alpha1.ImageSource) error {
	u, err := url.Parse(source.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("spec.source.url of UpgradePolicy cluster: %q is not an http or https address of a folder", source.URL)
	}
	if u.Scheme == "http" && source.TransportPolicy != v1alpha1.TransportAllowHTTP {
		return fmt.Errorf("spec.source.url of UpgradePolicy cluster: %s can be changed on its way: use https, or accept that with spec.source.transportPolicy: AllowHTTP", source.URL)
	}
	if len(source.URL) > maxURL {
		return fmt.Errorf("spec.source.url of UpgradePolicy cluster: it is longer than %d characters, and the addresses of images, which begin with it, would not fit", maxURL)
	}
	if _, err := keyringOf(source); err != nil {
		return fmt.Errorf("spec.source.keyring of UpgradePolicy cluster: %w", err)
	}
	return nil
}

// Identity returns a hash of what an index belongs to.
func Identity(source v1alpha1.ImageSource) string {
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(source.URL+"\n"+source.Keyring)))
}

// Read reads the index. An error is the Problem of the result.
func (p *Poller) Read(ctx context.Context) clusterstate.Source { return p.ReadSince(ctx, time.Time{}) }

// ReadSince is Read, and refuses an index that was signed before newest, when one that was read before was
// signed: who serves an old one may hide a version, or offer one that was withdrawn.
func (p *Poller) ReadSince(ctx context.Context, newest time.Time) clusterstate.Source {
	if p.problem != nil {
		return clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: p.problem.Error()}}
	}
	s, err := p.read(ctx)
	if err != nil {
		message := fmt.Sprintf("reading %s%s: %s", p.base, image.IndexName, ownPort.ReplaceAllString(err.Error(), ""))
		return clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
	}
	if !s.Signed.IsZero() && s.Signed.Before(newest) {
		return clusterstate.Source{Problem: p.untrusted("it was signed on %s, and one that was signed on %s was read before",
			clusterstate.FormatTime(s.Signed), clusterstate.FormatTime(newest))}
	}
	return s
}

// untrusted returns why the index is refused.
func (p *Poller) untrusted(format string, args ...any) clusterstate.Hold {
	return clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: p.base + image.IndexName + " is not to be trusted: " + fmt.Sprintf(format, args...)}
}

func (p *Poller) read(ctx context.Context) (clusterstate.Source, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+image.IndexName, nil)
	if err != nil {
		return clusterstate.Source{}, err
	}
	if p.seen {
		setIf(request.Header, "If-None-Match", p.etag)
		setIf(request.Header, "If-Modified-Since", p.modified)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return clusterstate.Source{}, cause(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && p.seen:
		return p.good, nil
	case response.StatusCode != http.StatusOK:
		return clusterstate.Source{}, fmt.Errorf("the server answers %s", response.Status)
	}
	body, err := readAll(response.Body, image.IndexSize)
	if err != nil {
		return clusterstate.Source{}, err
	}
	signed, problem, err := p.verify(ctx, body)
	if err != nil || problem.Holds() {
		return clusterstate.Source{Problem: problem}, err
	}
	p.good = Parse(p.base, string(body))
	p.good.Signed = signed
	p.seen, p.etag, p.modified = true, response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	return p.good, nil
}

func setIf(header http.Header, key, value string) {
	if value != "" {
		header.Set(key, value)
	}
}

// cause returns the error without the method and the address that a url.Error
// repeats.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Parse reads an index. base is the address that the images' names are relative
// to, with a slash at its end.
func Parse(base, index string) clusterstate.Source {
	address := base + image.IndexName
	sums, err := image.ParseIndex(address, index)
	if err != nil {
		return clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: err.Error()}}
	}
	if len(sums) == 0 {
		return clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceEmpty, Message: fmt.Sprintf("%s lists no Kubernetes image", address)}}
	}
	var s clusterstate.Source
	for _, file := range slices.Sorted(maps.Keys(sums)) {
		v, architecture, err := image.ParseName(file)
		if err != nil {
			s.Problem = clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf("%s: %v", address, err)}
			continue
		}
		s.Offers = append(s.Offers, clusterstate.Offer{
			Version: v.String(),
			Image:   v1alpha1.Image{Architecture: v1alpha1.Architecture(architecture), URL: base + file, Digest: v1alpha1.DigestOf(sums[file])},
		})
	}
	return s
}

// keyringOf returns the keys that may sign the index; nil if none are given.
func keyringOf(source v1alpha1.ImageSource) (*signature.Keyring, error) {
	if source.Keyring == "" {
		return nil, nil
	}
	return signature.ReadKeyring(source.Keyring)
}

// verify returns when an index was signed, or why it cannot be trusted. It returns an error if the
// signature cannot be read now.
func (p *Poller) verify(ctx context.Context, index []byte) (signed time.Time, problem clusterstate.Hold, err error) {
	if p.keyring == nil {
		return signed, problem, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+image.SignatureName, nil)
	if err != nil {
		return signed, problem, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return signed, problem, cause(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return signed, p.untrusted("there is no signature %s beside it, and the UpgradePolicy has a keyring", image.SignatureName), nil
	default:
		return signed, problem, fmt.Errorf("reading its signature %s: the server answers %s", image.SignatureName, response.Status)
	}
	text, err := readAll(response.Body, signature.Size)
	if err != nil {
		return signed, problem, fmt.Errorf("reading its signature %s: %w", image.SignatureName, err)
	}
	if signed, err = p.keyring.Verify(index, text); err != nil {
		return signed, p.untrusted("%v", err), nil
	}
	return signed, problem, nil
}

// readAll reads all bytes. It returns an error if there are more than most.
func readAll(from io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, cause(err)
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("it is longer than %d bytes", most)
	}
	return body, nil
}
