package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	kubernetes "github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend/nodes"
)

// source is a source of images that pretends: its index is real, and its images have no bytes.
type source struct {
	*screen
	address string // of /publish
	index   string // the URL of the folder with the index
	server  *http.Server

	mu       sync.Mutex
	versions []string
	broken   map[string]bool
}

// newSource serves the source, which offers the version that all nodes run. If real is not empty, it is
// the address of a source that takes its place: there is nothing to publish here then.
func newSource(s *screen, real string) (*source, error) {
	if real != "" {
		return &source{index: real, server: &http.Server{ReadHeaderTimeout: time.Second}}, nil
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serving the source of images: %w", err)
	}
	o := &source{screen: s, address: "http://" + listener.Addr().String(), versions: []string{nodes.First}, broken: map[string]bool{}}
	o.index = o.address + "/kubernetes/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /kubernetes/SHA256SUMS", o.serveIndex)
	mux.HandleFunc("POST /publish", o.servePublish)
	o.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = o.server.Serve(listener) }()
	return o, nil
}

func (o *source) serveIndex(answer http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range o.versions {
		fmt.Fprintf(answer, "%x  %s\n", sha256.Sum256([]byte(v)), image.Name(v, "amd64"))
	}
}

func (o *source) servePublish(answer http.ResponseWriter, request *http.Request) {
	v, broken := request.FormValue("version"), request.FormValue("broken") != ""
	if err := o.publish(v, broken); err != nil {
		http.Error(answer, err.Error(), http.StatusConflict)
		return
	}
	what := "is published"
	if broken {
		what = "is published, and its kubelet will not become healthy"
	}
	o.happened("source", "", v+" "+what)
	fmt.Fprintf(answer, "%s %s.\n", v, what) //nolint:gosec // a version that was parsed, for a terminal
}

// publish offers a version. One that was published stays as it is.
func (o *source) publish(text string, broken bool) error {
	v, err := kubernetes.Parse(text)
	if err != nil || v.String() != text {
		return fmt.Errorf("%q is not a version such as v1.34.4", text)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, there := range o.versions {
		if there == text {
			return fmt.Errorf("%s is published already, and an image never changes: publish a newer patch", text)
		}
	}
	o.versions, o.broken[text] = append(o.versions, text), broken
	return nil
}

func (o *source) isBroken(v string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.broken[v]
}

// newPublish returns the command that asks the source of a `make play` that runs.
func newPublish(out io.Writer) *cobra.Command {
	var broken bool
	command := &cobra.Command{
		Use:   "publish VERSION",
		Short: "Publish a new version in the pretended source of images",
		Example: `  play publish v1.34.4
  play publish v1.34.6 --broken`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := os.Getenv("PLAY")
			if address == "" {
				return errors.New("PLAY is not set: paste the line `export …` that `make play` shows")
			}
			form := url.Values{"version": {args[0]}}
			if broken {
				form.Set("broken", "yes")
			}
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodPost, //nolint:gosec // the address is the visitor's own
				address+"/publish", strings.NewReader(form.Encode()))
			if err != nil {
				return fmt.Errorf("PLAY=%s: %w", address, err)
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer, err := http.DefaultClient.Do(request) //nolint:gosec // the address is the visitor's own
			if err != nil {
				return fmt.Errorf("no `make play` answers at %s, which PLAY names: paste the line `export …` of the one that runs", address)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			if answer.StatusCode != http.StatusOK {
				return errors.New(string(text))
			}
			_, err = out.Write(text)
			return err
		},
	}
	command.Flags().BoolVar(&broken, "broken", false, "nodes that boot it do not become healthy")
	return command
}
