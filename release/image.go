package main

import (
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

const repository = "https://github.com/kubectl-upgrade/kubectl-upgrade"

// architectures are those of the nodes.
var architectures = []string{"amd64", "arm64"}

// build is what an image is built from. The same build gives the same bytes on every
// machine and in every folder.
type build struct {
	source            string // a folder with the source of this repository
	version, revision string
	created           time.Time // of the revision
}

// annotations are also the labels of the image.
func (b build) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "node-agent",
		"org.opencontainers.image.description":   "The agents and the coordinator of kubectl-upgrade",
		"org.opencontainers.image.version":       b.version,
		"org.opencontainers.image.revision":      b.revision,
		"org.opencontainers.image.created":       b.created.UTC().Format(time.RFC3339),
		"org.opencontainers.image.source":        repository,
		"org.opencontainers.image.documentation": repository + "/tree/" + b.version + "/docs",
		"org.opencontainers.image.licenses":      "Apache-2.0",
	}
}

// provenance adds to the annotations how a platform's programs were built.
func (b build) provenance(architecture string) map[string]string {
	all := b.annotations()
	all["kubectl-upgrade.dev/go-version"] = runtime.Version()
	all["kubectl-upgrade.dev/build-command"] = b.command(architecture)
	return all
}

// write writes the image of all platforms into the folder out, as an OCI layout in
// out/image, beside the programs that are in it. It returns the digest of its index.
func (b build) write(ctx context.Context, out string) (v1.Hash, error) {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return v1.Hash{}, err
	}
	layers, err := os.MkdirTemp(out, "layers-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(layers)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		files, err := b.programs(ctx, architecture, out)
		if err != nil {
			return v1.Hash{}, err
		}
		img, err := b.image(files, architecture, filepath.Join(layers, architecture))
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	index = mutate.Annotations(index, b.annotations()).(v1.ImageIndex)
	// The layout's own index is the image's: a push keeps its digest.
	if _, err := layout.Write(filepath.Join(out, "image"), index); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// image returns the image of one platform, whose layer it writes into the file content.
func (b build) image(files map[string]string, architecture, content string) (v1.Image, error) {
	if err := image.WriteLayer(content, files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(content, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	annotations := b.provenance(architecture)
	img, err := image.Assemble(layer, architecture, b.created, v1.Config{Entrypoint: []string{"/node-agent"}, Labels: annotations})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(img, annotations).(v1.Image), nil
}
