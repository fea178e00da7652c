//go:build integration

package host_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// publish serves an image and its index.
func publish(t *testing.T, image host.Image, data []byte, sha256Hex string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/") {
		case "SHA256SUMS":
			_, _ = fmt.Fprintf(w, "%s  %s\n", sha256Hex, image.Name())
		case image.Name():
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/" + image.Name()
}

// TestStageAndActivate runs staging and activation as units, with loop mounts inside the
// machine.
func TestStageAndActivate(t *testing.T) {
	image, err := host.NewImage("v1.34.4", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(image.Path())
	if err != nil {
		t.Fatal(err)
	}
	hash := upgradeArgs(t).SHA256
	url := publish(t, image, data, hash)
	if err := os.Remove(image.Path()); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	changes := follow(t, c)
	args := verb.StageArgs{Version: image.Version(), URL: url, SHA256: hash}
	start(t, c, request(t, verb.Stage, "s", args), verb.Options{})
	result := finish(t, c, changes, verb.Stage)
	var staged sysupdate.StageOutput
	if err := result.Decode(&staged); err != nil || !result.OK || !staged.Downloaded || staged.Bytes != int64(len(data)) {
		t.Fatalf("%s %s %+v %v\n%s", result.Reason, result.Message, staged, err, result.LogTail)
	}

	start(t, c, request(t, verb.Activate, "a", verb.ActivateArgs{Version: image.Version(), SHA256: hash}), verb.Options{})
	result = finish(t, c, changes, verb.Activate)
	var activated sysupdate.ActivateOutput
	if err := result.Decode(&activated); err != nil || !result.OK || activated.From != "v1.34.3" || activated.To != "v1.34.4" {
		t.Fatalf("%s %s %+v %v", result.Reason, result.Message, activated, err)
	}
	if active, err := host.OnNode.Active(); err != nil || active != image {
		t.Errorf("%v %v", active, err)
	}
}
