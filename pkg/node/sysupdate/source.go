package sysupdate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image/signature"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// source is the folder on a web server with an image and its index.
type source struct {
	folder  string
	image   host.Image
	keyring *signature.Keyring // nil: no signature is needed
}

const indexTimeout = 30 * time.Second

// parseSource returns the source of an image from the image's URL.
func parseSource(address string, image host.Image) (source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return source{}, fmt.Errorf("the image's address %q is not an http or https URL", address)
	}
	folder, ends := strings.CutSuffix(address, "/"+image.Name())
	if !ends || u.RawQuery != "" || u.Fragment != "" {
		return source{}, fmt.Errorf("the image's address %q does not end in /%s", address, image.Name())
	}
	return source{folder: folder + "/", image: image}, nil
}

// check returns an error unless the index lists the image with that hash and, if the
// source has a keyring, is signed.
func (s source) check(ctx context.Context, sha256Hex string) error {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	index := s.folder + image.IndexName
	text, err := s.read(ctx, image.IndexName, image.IndexSize)
	if err != nil {
		return err
	}
	if err := s.verifySignature(ctx, text); err != nil {
		return err
	}
	sums, err := image.ParseIndex(index, string(text))
	if err != nil {
		return host.Fail(v1alpha1.ReasonSourceUnavailable, "%w", err)
	}
	switch sum, offered := sums[s.image.Name()]; {
	case !offered:
		return host.Fail(v1alpha1.ReasonNotOffered, "%s does not list %s", index, s.image.Name())
	case sum != sha256Hex:
		return host.Fail(v1alpha1.ReasonHashMismatch, "%s now lists %s with the sha256 %s, not %s as fixed at the trigger", index, s.image.Name(), sum, sha256Hex)
	}
	return nil
}

// verifySignature returns an error with the reason SignatureInvalid unless the index
// is signed by a key of the keyring.
func (s source) verifySignature(ctx context.Context, index []byte) error {
	if s.keyring == nil {
		return nil
	}
	signed, err := s.read(ctx, image.SignatureName, signature.Size)
	switch {
	case host.ReasonOf(err, "") == v1alpha1.ReasonNotOffered:
		err = fmt.Errorf("there is no signature %s beside it, and the UpgradePolicy has a keyring", image.SignatureName)
	case err != nil:
		return err
	default:
		_, err = s.keyring.Verify(index, signed)
	}
	if err != nil {
		return host.Fail(v1alpha1.ReasonSignatureInvalid, "%s%s is not to be trusted: %w", s.folder, image.IndexName, err)
	}
	return nil
}

// read returns the content of a file of the folder, at most that many bytes.
func (s source) read(ctx context.Context, name string, most int64) ([]byte, error) {
	body, _, err := s.get(ctx, http.MethodGet, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return nil, host.Fail(v1alpha1.ReasonSourceUnavailable, "reading %s%s: %w", s.folder, name, err)
	}
	return text, nil
}

// size returns the size of the image, or -1 if the server does not report it.
func (s source) size(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	body, size, err := s.get(ctx, http.MethodHead, s.image.Name())
	if host.ReasonOf(err, "") == v1alpha1.ReasonSourceUnavailable {
		return -1, nil // the server may support GET only; if not, the download fails
	}
	if err != nil {
		return 0, err
	}
	return size, body.Close()
}

func (s source) get(ctx context.Context, method, name string) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.folder+name, nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, host.Fail(v1alpha1.ReasonSourceUnavailable, "connecting to the source of images: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, response.ContentLength, nil
	}
	_ = response.Body.Close()
	reason := v1alpha1.ReasonSourceUnavailable
	if response.StatusCode == http.StatusNotFound && name != image.IndexName {
		reason = v1alpha1.ReasonNotOffered
	}
	return nil, 0, host.Fail(reason, "%s%s: the server answers %s", s.folder, name, response.Status)
}
