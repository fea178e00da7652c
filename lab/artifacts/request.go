package artifacts

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// downloads ends what does not begin; how long a download lasts is not limited.
var downloads = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
	ResponseHeaderTimeout: time.Minute,
	ForceAttemptHTTP2:     true,
}}

// refused is an answer that a second request will not change.
type refused string

func (r refused) Error() string { return "the server answers " + string(r) }

// get requests a file from an offset on. The answer is all of it (200), the rest of it
// (206), or that nothing is left (416).
func get(ctx context.Context, address string, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := downloads.Do(request)
	if err != nil {
		return nil, err
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK, offset > 0 && (code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable):
		return response, nil
	case code >= http.StatusInternalServerError || code == http.StatusTooManyRequests:
		response.Body.Close()
		return nil, fmt.Errorf("the server answers %s", response.Status)
	default:
		response.Body.Close()
		return nil, refused(response.Status)
	}
}

// downloaded reports the progress of a download as what is written to it.
type downloaded struct {
	cache     *Cache
	share     share
	have, all int64
}

func (d *downloaded) Write(p []byte) (int, error) {
	d.have += int64(len(p))
	if d.all >= d.have { // some servers do not say how much there is
		part := (float64(d.share.number) + float64(d.have)/float64(d.all)) / float64(d.share.of)
		d.cache.progress(part, fmt.Sprintf("%s: %d of %d MB", d.share.name, d.have/1e6, d.all/1e6))
	}
	return len(p), nil
}
