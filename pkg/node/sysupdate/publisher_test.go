//go:build integration

package sysupdate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// evilRan is the file that the programs of the image "evil" create.
const evilRan = "/evil-ran"

// mksquashfs creates small images in the bakery's layout, whose programs only print their
// version. "wrong" contains another version than its name says.
func mksquashfs(dir string) error {
	for _, i := range []struct{ file, says, release string }{
		{"v1.34.2", "v1.34.2", "kubernetes"},
		{"v1.34.3", "v1.34.3", "kubernetes"},
		{"v1.34.4", "v1.34.4", "kubernetes"},
		{"v1.34.5", "v1.34.5", "kubernetes"},
		{"v1.35.4", "v1.35.4", "kubernetes"},
		{"v1.35.5-rc.1", "v1.35.5-rc.1", "kubernetes"},
		{"v1.34.4+k3s1", "v1.34.4+k3s1", "kubernetes"},
		{"wrong", "v1.34.3", "kubernetes"},
		{"evil", "v1.34.4", "kubernetes"},
		{"misnamed", "v1.34.4", "kubernetes-v1.34"},
	} {
		does := ""
		if i.file == "evil" {
			does = "touch " + evilRan + "\n"
		}
		tree := filepath.Join(dir, i.file+".tree")
		for name, file := range map[string]struct {
			text string
			mode os.FileMode
		}{
			"usr/bin/kubelet":                    {"#!/bin/sh\n" + does + "echo Kubernetes " + i.says + "\n", 0o755},
			"usr/bin/kubeadm":                    {"#!/bin/sh\necho " + i.says + "\n", 0o755},
			"usr/local/share/kubernetes-version": {i.says + "\n", 0o644},
			"usr/lib/extension-release.d/extension-release." + i.release: {"ID=_any\nARCHITECTURE=x86-64\n", 0o644},
		} {
			path := filepath.Join(tree, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
				return err
			}
		}
		out, err := exec.CommandContext(context.Background(), "mksquashfs", tree, filepath.Join(dir, i.file+".raw"), "-quiet", "-no-progress", "-all-root").CombinedOutput()
		if err != nil {
			return fmt.Errorf("mksquashfs: %w: %s", err, out)
		}
	}
	return nil
}

// publisher is a web server with images and their index.
type publisher struct {
	t     *testing.T
	mu    sync.Mutex
	files map[string][]byte
	index map[string]string
	gets  map[string]int
	url   string
	// breakAfter closes the connection after so many bytes of an image.
	breakAfter int
	// endless serves an image that does not end. No client is told how long it is but
	// who asks for its head, where said is not 0.
	endless bool
	said    int
	// keyring are the keys that nodes are given.
	keyring string
	// sign returns the index's signature; nil: there is none.
	sign func(index []byte) []byte
	// onImage is called when an image is asked for, and keeps it back.
	onImage func()
	// meanwhile is called once, while an image is downloaded.
	meanwhile func()
}

func newPublisher(t *testing.T, versions ...string) *publisher {
	p := &publisher{t: t, files: map[string][]byte{}, index: map[string]string{}, gets: map[string]int{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL + "/"
	for _, v := range versions {
		p.publish(v, v)
	}
	return p
}

func imageName(version string) string { return "kubernetes-" + version + "-x86-64.raw" }

// publish offers one of mksquashfs's images as that version.
func (p *publisher) publish(version, content string) {
	data := imageOf(p.t, content)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[imageName(version)] = data
	p.index[imageName(version)] = hashOf(data)
}

// downloads returns how often an image was downloaded.
func (p *publisher) downloads(version string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gets[imageName(version)]
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "SHA256SUMS" {
		p.serveIndex(w)
		return
	}
	if name == "SHA256SUMS.gpg" && p.sign != nil {
		_, _ = w.Write(p.sign(p.indexText()))
		return
	}
	p.mu.Lock()
	data, ok := p.files[name]
	if r.Method == http.MethodGet {
		p.gets[name]++
	}
	p.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if p.endless {
		p.serveEndless(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodHead {
		return
	}
	if p.onImage != nil {
		p.onImage()
		<-r.Context().Done()
		return
	}
	if meanwhile := p.takeMeanwhile(); meanwhile != nil {
		_, _ = w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		data = data[len(data)/2:]
		meanwhile()
	}
	if p.breakAfter > 0 {
		data = data[:p.breakAfter]
	}
	_, _ = w.Write(data)
}

func (p *publisher) takeMeanwhile() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	meanwhile := p.meanwhile
	p.meanwhile = nil
	return meanwhile
}

func (p *publisher) serveEndless(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		if p.said > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(p.said))
		}
		return
	}
	junk := make([]byte, 1<<20)
	for i := range junk {
		junk[i] = byte(i*i>>3) | 1
	}
	for r.Context().Err() == nil {
		if _, err := w.Write(junk); err != nil {
			return
		}
	}
}

func (p *publisher) serveIndex(w http.ResponseWriter) { _, _ = w.Write(p.indexText()) }

func (p *publisher) indexText() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var text []byte
	for _, file := range slices.Sorted(maps.Keys(p.index)) {
		text = fmt.Appendf(text, "%s  %s\n", p.index[file], file)
	}
	return text
}

func imageOf(t *testing.T, content string) []byte {
	t.Helper()
	data, err := os.ReadFile("/images/" + content + ".raw")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
