// Package source reads which Kubernetes images are on offer, from the index of the
// folder that they are published in.
//
// It promises:
//
//   - An index that has not changed is not sent again.
//   - An index with a line that is not a hash and a name offers nothing at all:
//     it may be cut off, or not an index. A Kubernetes image whose name is not a
//     version is passed over and named; the others are good.
//   - An index that cannot be read offers nothing, whatever it offered before.
//   - Nothing here is downloaded but the index.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/images"
)

// Default is where Flatcar's sysext-bakery publishes its Kubernetes images.
const Default = "https://extensions.flatcar.org/extensions/kubernetes/"

// patience is how long reading the index may take.
const patience = 30 * time.Second

// ownPort matches our end of a connection that broke. It differs each time, and
// every status that repeats the message would be written anew.
var ownPort = regexp.MustCompile(`\S+:\d+->`)

// Poller reads one index again and again. It is not for concurrent use.
type Poller struct {
	problem error // why nothing is read
	base    string
	client  *http.Client

	seen     bool // good is what etag and modified stand for
	etag     string
	modified string
	good     fleet.Source
}

// NewPoller returns a Poller of the index at a source.
func NewPoller(source v1alpha1.ImageSource) *Poller {
	return &Poller{problem: Check(source), base: strings.TrimSuffix(source.URL, "/") + "/", client: &http.Client{Timeout: patience}}
}

// Check returns an error if the source can offer nothing as the UpgradePolicy
// describes it.
func Check(source v1alpha1.ImageSource) error {
	if source.Keyring != "" {
		return errors.New("spec.source.keyring of UpgradePolicy cluster: signatures cannot be checked yet; remove it")
	}
	u, err := url.Parse(source.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("spec.source.url of UpgradePolicy cluster: %q is not an http or https address of a folder", source.URL)
	}
	return nil
}

// Read reads the index. What went wrong is the Problem of the result.
func (p *Poller) Read(ctx context.Context) fleet.Source {
	if p.problem != nil {
		return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: p.problem.Error()}}
	}
	s, err := p.read(ctx)
	if err != nil {
		message := fmt.Sprintf("reading %s%s: %s", p.base, images.Index, ownPort.ReplaceAllString(err.Error(), ""))
		return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
	}
	return s
}

func (p *Poller) read(ctx context.Context) (fleet.Source, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+images.Index, nil)
	if err != nil {
		return fleet.Source{}, err
	}
	if p.seen {
		setIf(request.Header, "If-None-Match", p.etag)
		setIf(request.Header, "If-Modified-Since", p.modified)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return fleet.Source{}, cause(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && p.seen:
		return p.good, nil
	case response.StatusCode != http.StatusOK:
		return fleet.Source{}, fmt.Errorf("the server answers %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, images.IndexSize+1))
	if err != nil {
		return fleet.Source{}, cause(err)
	}
	if len(body) > images.IndexSize {
		return fleet.Source{}, fmt.Errorf("it is longer than %d bytes", images.IndexSize)
	}
	p.good = Parse(p.base, string(body))
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
