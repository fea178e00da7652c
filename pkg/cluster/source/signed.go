package source

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/signature"
)

// keyringOf returns the keys that may sign the index; nil if none are given.
func keyringOf(source v1alpha1.ImageSource) (*signature.Keyring, error) {
	if source.Keyring == "" {
		return nil, nil
	}
	return signature.ReadKeyring(source.Keyring)
}

// verify returns why an index cannot be trusted. It returns an error if the signature
// cannot be read now.
func (p *Poller) verify(ctx context.Context, index []byte) (fleet.Hold, error) {
	if p.keyring == nil {
		return fleet.Hold{}, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+image.SignatureName, nil)
	if err != nil {
		return fleet.Hold{}, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return fleet.Hold{}, cause(err)
	}
	defer response.Body.Close()
	untrusted := func(format string, args ...any) fleet.Hold {
		return fleet.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: p.base + image.IndexName + " is not to be trusted: " + fmt.Sprintf(format, args...)}
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return untrusted("there is no signature %s beside it, and the UpgradePolicy has a keyring", image.SignatureName), nil
	default:
		return fleet.Hold{}, fmt.Errorf("reading its signature %s: the server answers %s", image.SignatureName, response.Status)
	}
	signed, err := readAll(response.Body, signature.Size)
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading its signature %s: %w", image.SignatureName, err)
	}
	if err := p.keyring.Verify(index, signed); err != nil {
		return untrusted("%v", err), nil
	}
	return fleet.Hold{}, nil
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
