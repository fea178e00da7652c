package serve

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// imageLab is an image server with its state.
type imageLab struct {
	*testing.T
	state, url string
}

func newImageLab(t *testing.T) imageLab {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	images, err := newImageServer(state)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(images)
	t.Cleanup(func() { server.Close(); images.close() })
	return imageLab{t, state, server.URL}
}

// image writes a file to publish, and returns its path and hash.
func (l imageLab) image(content string) (path, hash string) {
	l.Helper()
	path = filepath.Join(l.TempDir(), "some-image.raw")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		l.Fatal(err)
	}
	return path, fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
}

func (l imageLab) publish(content, version string, options PublishOptions) (hash string) {
	l.Helper()
	path, hash := l.image(content)
	if err := Publish(l.state, path, version, options); err != nil {
		l.Fatal(err)
	}
	return hash
}

func (l imageLab) get(path string, headers ...string) (status int, body string) {
	l.Helper()
	request, err := http.NewRequest(http.MethodGet, l.url+path, nil)
	if err != nil {
		l.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		l.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (l imageLab) wantIndex(want string) {
	l.Helper()
	if status, got := l.get("/SHA256SUMS"); status != http.StatusOK || got != want {
		l.Errorf("the index is %d %q, want %q", status, got, want)
	}
}

func TestPublishAndWithdraw(t *testing.T) {
	l := newImageLab(t)
	l.wantIndex("")
	ten := l.publish("ten", "1.34.10", PublishOptions{})
	four := l.publish("four", "1.34.4", PublishOptions{})
	l.wantIndex(four + "  kubernetes-v1.34.4" + fileSuffix + "\n" + ten + "  kubernetes-v1.34.10" + fileSuffix + "\n")
	want := []Offer{{"1.34.4", "kubernetes-v1.34.4" + fileSuffix, four}, {"1.34.10", "kubernetes-v1.34.10" + fileSuffix, ten}}
	offers, err := Offers(l.state)
	if diff := cmp.Diff(want, offers); err != nil || diff != "" {
		t.Errorf("offers: %v (-want +got):\n%s", err, diff)
	}
	if status, body := l.get("/kubernetes-v1.34.4" + fileSuffix); status != http.StatusOK || body != "four" {
		t.Errorf("the image is %d %q", status, body)
	}
	if status, body := l.get("/kubernetes-v1.34.4"+fileSuffix, "Range", "bytes=1-2"); status != http.StatusPartialContent || body != "ou" {
		t.Errorf("a part of the image is %d %q", status, body)
	}

	for range 2 {
		if err := Withdraw(l.state, "1.34.10"); err != nil {
			t.Error(err)
		}
	}
	l.wantIndex(four + "  kubernetes-v1.34.4" + fileSuffix + "\n")
	if status, _ := l.get("/kubernetes-v1.34.10" + fileSuffix); status != http.StatusNotFound {
		t.Errorf("a withdrawn image gives %d", status)
	}
	again := l.publish("four, anew", "1.34.4", PublishOptions{})
	l.wantIndex(again + "  kubernetes-v1.34.4" + fileSuffix + "\n")
}

func TestPublishCorrupt(t *testing.T) {
	l := newImageLab(t)
	hash := l.publish("content", "1.34.4", PublishOptions{Corrupt: true})
	l.wantIndex(hash + "  kubernetes-v1.34.4" + fileSuffix + "\n")
	_, body := l.get("/kubernetes-v1.34.4" + fileSuffix)
	if body == "content" || len(body) != len("content") {
		t.Errorf("a corrupt image is %q", body)
	}
	l.publish("content", "1.34.4", PublishOptions{})
	if _, body := l.get("/kubernetes-v1.34.4" + fileSuffix); body != "content" {
		t.Errorf("published again without fault it is %q", body)
	}
}

func TestPublishRefuses(t *testing.T) {
	l := newImageLab(t)
	path, _ := l.image("x")
	for _, version := range []string{"", "v1.34.4", "../1", "main"} {
		if err := Publish(l.state, path, version, PublishOptions{}); err == nil {
			t.Errorf("version %q was published", version)
		}
	}
	if err := Publish(l.state, path+".missing", "1.34.4", PublishOptions{}); err == nil {
		t.Error("a missing file was published")
	}
	l.wantIndex("")
}

func TestIndexOverride(t *testing.T) {
	l := newImageLab(t)
	hash := l.publish("four", "1.34.4", PublishOptions{})
	for _, raw := range []string{"", "rubbish\x00\nmore"} {
		if err := Index(l.state, raw); err != nil {
			t.Fatal(err)
		}
		l.wantIndex(raw)
	}
	if err := ResetIndex(l.state); err != nil {
		t.Fatal(err)
	}
	l.wantIndex(hash + "  kubernetes-v1.34.4" + fileSuffix + "\n")
}

func TestDown(t *testing.T) {
	l := newImageLab(t)
	for _, step := range []struct {
		down bool
		want int
	}{{true, http.StatusServiceUnavailable}, {false, http.StatusOK}, {false, http.StatusOK}} {
		if err := Down(l.state, step.down); err != nil {
			t.Fatal(err)
		}
		if status, _ := l.get("/SHA256SUMS"); status != step.want {
			t.Errorf("down %v: status %d, want %d", step.down, status, step.want)
		}
	}
}

func TestImageServerShowsNothingElse(t *testing.T) {
	l := newImageLab(t)
	l.publish("four", "1.34.4", PublishOptions{})
	for _, path := range []string{"/", "/..%2fimages.log", "/images.log", "/kubernetes-v1.34.4" + fileSuffix + ".sha256", "/offers/"} {
		if status, _ := l.get(path); status != http.StatusNotFound {
			t.Errorf("%s gives %d", path, status)
		}
	}
}

func TestRequestsCountWhoAsked(t *testing.T) {
	l := newImageLab(t)
	if requests, err := Requests(filepath.Join(l.state, "none")); err != nil || len(requests) != 0 {
		t.Errorf("without a log: %v, %v", requests, err)
	}
	l.get("/SHA256SUMS")
	l.get("/missing")
	requests, err := Requests(l.state)
	if err != nil || len(requests) != 2 {
		t.Fatalf("requests are %v (%v), want 2", requests, err)
	}
	for i, want := range []Request{
		{Client: "127.0.0.1", Method: "GET", Path: "/SHA256SUMS", Status: 200},
		{Client: "127.0.0.1", Method: "GET", Path: "/missing", Status: 404},
	} {
		got := requests[i]
		if got.Time.IsZero() {
			t.Errorf("request %d has no time", i)
		}
		want.Time = got.Time
		if got != want {
			t.Errorf("request %d is %+v, want %+v", i, got, want)
		}
	}
}
