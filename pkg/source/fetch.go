// Package source knows which Kubernetes images are on offer, from the index of
// the place they are published at.
//
// It promises:
//
//   - One look at the index serves the whole cluster, and an index that has not
//     changed is not sent again.
//   - An index with a line that is not a hash and a name offers nothing at all:
//     it may be cut off, or not an index. A Kubernetes image whose name is not a
//     version is passed over and named; the others are good.
//   - An index that cannot be had offers nothing, whatever it offered before.
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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/images"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Default is where Flatcar's sysext-bakery publishes its Kubernetes images.
const Default = "https://extensions.flatcar.org/extensions/kubernetes/"

// patience is how long one look may take.
const patience = 30 * time.Second

// ownPort is our end of a connection that broke, another one each time: every
// node's status repeats the message, and would be written anew with each look.
var ownPort = regexp.MustCompile(`\S+:\d+->`)

// Poller looks at one index again and again. It is not for concurrent use.
type Poller struct {
	base   string
	client *http.Client

	seen     bool // good is what etag and modified stand for
	etag     string
	modified string
	good     plan.Source
}

// NewPoller looks at the index of an http or https address.
func NewPoller(base string) (*Poller, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("source.url %q is not an http or https address of a folder", base)
	}
	return &Poller{base: strings.TrimSuffix(base, "/") + "/", client: &http.Client{Timeout: patience}}, nil
}

// Look reads the index. What goes wrong is the Trouble of what it returns.
func (p *Poller) Look(ctx context.Context) plan.Source {
	s, err := p.look(ctx)
	if err != nil {
		message := fmt.Sprintf("reading %s%s: %s", p.base, images.Index, ownPort.ReplaceAllString(err.Error(), ""))
		return plan.Source{Trouble: plan.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
	}
	return s
}

func (p *Poller) look(ctx context.Context) (plan.Source, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+images.Index, nil)
	if err != nil {
		return plan.Source{}, err
	}
	if p.seen {
		setIf(request.Header, "If-None-Match", p.etag)
		setIf(request.Header, "If-Modified-Since", p.modified)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return plan.Source{}, cause(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && p.seen:
		return p.good, nil
	case response.StatusCode != http.StatusOK:
		return plan.Source{}, fmt.Errorf("the server answers %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, images.IndexSize+1))
	if err != nil {
		return plan.Source{}, cause(err)
	}
	if len(body) > images.IndexSize {
		return plan.Source{}, fmt.Errorf("it is longer than %d bytes", images.IndexSize)
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

// cause leaves out what a url.Error says twice: the method and the address.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
