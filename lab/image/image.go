// Package image makes container images without a container engine: the same
// files always give the same bytes, independent of the builder and the time.
//
// An image is one layer. That of BuildImage is not compressed: on a machine that
// builds, serves and runs the image itself, compression only costs processor time.
package image

import (
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// searchPath is the PATH of every image: kubeadm's manifests name their
// commands without a folder, so the container runtime has to find them.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// BuildImage writes to out the archive of an image called ref, a full
// reference with a tag ("registry.k8s.io/pause:3.10.1"), as `docker save`
// would: `ctr images import` and serve.PushTar read it.
//
// files maps absolute paths in the image to files of this machine; a link is
// followed, and only its executable bits are kept of a file's mode. An image
// always has a /tmp, and the architecture of its programs. A nil entrypoint leaves
// the command to the pod. The archive appears under out only when it is complete.
func BuildImage(ref string, files map[string]string, entrypoint []string, out string) error {
	if err := build(ref, files, entrypoint, out); err != nil {
		return fmt.Errorf("building image %q: %w", ref, err)
	}
	return nil
}

func build(ref string, files map[string]string, entrypoint []string, out string) error {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return err
	}
	architecture, err := architecture(files)
	if err != nil {
		return err
	}
	content := out + ".layer"
	defer os.Remove(content)
	if err := WriteLayer(content, files); err != nil {
		return err
	}
	layer, err := Uncompressed(fileContent(content))
	if err != nil {
		return err
	}
	img, err := Assemble(layer, architecture, time.Unix(0, 0), v1.Config{Entrypoint: entrypoint, Env: []string{searchPath}})
	if err != nil {
		return err
	}
	partial := out + ".partial"
	defer os.Remove(partial)
	if err := tarball.WriteToFile(partial, tag, img); err != nil {
		return err
	}
	return os.Rename(partial, out)
}

// Assemble returns an image for linux and an architecture that has one layer.
func Assemble(layer v1.Layer, architecture string, created time.Time, config v1.Config) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(img, layer)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = architecture, "linux"
	file.Created = v1.Time{Time: created.UTC()}
	file.Config = config
	return mutate.ConfigFile(img, file)
}
