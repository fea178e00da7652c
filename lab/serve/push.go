package serve

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

// PushTar uploads the image archive at tarPath to the registry at
// registryAddr, "10.88.0.1:5000", under its own reference without the host:
// registry.k8s.io/pause:3.10.1 becomes pause:3.10.1, as a mirror is asked for
// it. Layers the registry has are not sent again, and none is compressed.
func PushTar(ctx context.Context, registryAddr, tarPath string) error {
	if err := pushTar(ctx, registryAddr, tarPath); err != nil {
		return fmt.Errorf("pushing the image %s to %s: %w", tarPath, registryAddr, err)
	}
	return nil
}

func pushTar(ctx context.Context, registryAddr, tarPath string) error {
	own, err := archiveTag(tarPath)
	if err != nil {
		return err
	}
	repository, err := name.NewRepository(registryAddr+"/"+own.RepositoryStr(), name.Insecure)
	if err != nil {
		return err
	}
	packed, err := tarball.ImageFromPath(tarPath, &own)
	if err != nil {
		return err
	}
	plain, err := uncompressed(packed)
	if err != nil {
		return err
	}
	return remote.Write(repository.Tag(own.TagStr()), plain, remote.WithContext(ctx), remote.WithJobs(1))
}

// archiveTag is the one reference in the archive.
func archiveTag(tarPath string) (name.Tag, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(tarPath) })
	if err != nil {
		return name.Tag{}, err
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return name.Tag{}, fmt.Errorf("it holds not exactly one image with one tag")
	}
	return name.NewTag(manifest[0].RepoTags[0])
}

// uncompressed is the same image, by configuration and contents, with layers
// that cost no time to pack here and to unpack on every node.
func uncompressed(packed v1.Image) (v1.Image, error) {
	layers, err := packed.Layers()
	if err != nil {
		return nil, err
	}
	plain := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		one, err := image.Uncompressed(layer.Uncompressed)
		if err != nil {
			return nil, err
		}
		if plain, err = mutate.AppendLayers(plain, one); err != nil {
			return nil, err
		}
	}
	config, err := packed.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(plain, config)
}
