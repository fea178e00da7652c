package cli

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// onlyAPI has clients refuse answers that no API server gives.
func onlyAPI(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return apiServer{next} })
	kube.RefuseRedirects(config)
	return config
}

// apiServer is an http.RoundTripper. A web page becomes an error that says where it came from:
// its text would fill the screen, and client-go takes some for an empty object.
type apiServer struct{ next http.RoundTripper }

// RoundTrip is part of http.RoundTripper.
func (a apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if wait, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && wait > longestPause {
		response.Header.Del("Retry-After") // so that the refusal is the answer
	}
	if request.URL.Query().Get("watch") == "" { // a watch has no end
		response.Body = &boundedBody{ReadCloser: response.Body, request: request, left: maxAnswer}
	}
	switch kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind {
	case "text/html", "application/xhtml+xml":
		response.Body.Close()
		return nil, &foreignAnswer{request, response, "a web page"}
	case "application/json":
		response.Body = &objectBody{ReadCloser: response.Body, answer: &foreignAnswer{request, response, "JSON that is no object"}}
	}
	return response, nil
}

// longestPause is for how many seconds an API server may send requests away. client-go waits as
// long as it is told, ten times; API servers say 1.
const longestPause = 5

// maxAnswer is the size of an answer that is read into memory. Lists are read in pages.
const maxAnswer = 128 << 20

// boundedBody is the body of an answer that is not endless.
type boundedBody struct {
	io.ReadCloser
	request *http.Request
	left    int
}

// Read is part of io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("%s answered with more than %d MiB, which no API server does", b.request.URL.Redacted(), maxAnswer>>20)
	}
	return n, err
}

// foreignAnswer is the error for an answer that no API server gives.
type foreignAnswer struct {
	request  *http.Request
	response *http.Response
	what     string
}

func (f *foreignAnswer) Error() string {
	to := ""
	if location := f.response.Header.Get("Location"); location != "" {
		to = " to " + location
	}
	return fmt.Sprintf("%s answered %s%s, with %s: that is a proxy or a login page, and no API server; the kubeconfig's server and $HTTPS_PROXY say where requests go",
		f.request.URL.Redacted(), f.response.Status, to, f.what)
}

// objectBody is the body of an answer in JSON, which has to be an object: client-go takes null
// for an empty one. It looks at what is read, as a watch has no end.
type objectBody struct {
	io.ReadCloser
	answer *foreignAnswer
	begun  bool
}

// Read is part of io.Reader.
func (b *objectBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if text := bytes.TrimLeft(p[:n], " \t\r\n"); !b.begun && len(text) > 0 {
		if b.begun = true; text[0] != '{' {
			return 0, b.answer
		}
	}
	return n, err
}

// checkAnswer returns an error unless the API server's answer is the object of that name.
func checkAnswer(doing string, answer metav1.Object, name string) error {
	if answer.GetName() != name {
		return fmt.Errorf("%s: the API server answered with an object named %q; something between you and it changes answers", doing, answer.GetName())
	}
	return nil
}
