package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTransfers(t *testing.T) {
	lab := newImageLab(t)
	content := strings.Repeat("x", 6<<20)
	lab.publish(content, "1.34.4", PublishOptions{})
	for kind, check := range map[string]func(n int, err error, took time.Duration) bool{
		"": func(n int, err error, _ time.Duration) bool { return n == len(content) && err == nil },
		"slow": func(n int, err error, took time.Duration) bool {
			return n == len(content) && err == nil && took > 2*time.Second
		},
		"cut": func(n int, err error, _ time.Duration) bool {
			return n < len(content) && errors.Is(err, io.ErrUnexpectedEOF)
		},
		"endless": func(n int, err error, _ time.Duration) bool {
			return n > len(content) && errors.Is(err, context.DeadlineExceeded)
		},
		"stalled": func(n int, err error, _ time.Duration) bool {
			return n < len(content) && errors.Is(err, context.DeadlineExceeded)
		},
	} {
		if err := SetTransfer(lab.state, kind); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		n, err := lab.download("/kubernetes-v1.34.4" + fileSuffix)
		if took := time.Since(began); !check(n, err, took) {
			t.Errorf("transfer %q: got %d of %d bytes in %s, and error %v", kind, n, len(content), took, err)
		}
	}
}

// download returns how much it got within 5 seconds.
func (l imageLab) download(path string) (int, error) {
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return len(text), err
}
