package artifacts

import (
	"context"
	"fmt"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pull downloads a container image from its registry, and returns its archive. The
// registry's digests say what its contents are.
func (c *Cache) pull(ctx context.Context, ref string) (string, error) {
	from, err := c.Origin.image(ref)
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return "", err
	}
	dir, err := c.obtain(artifact{
		name:   "published-" + repositoryOf(ref) + "-" + tag.TagStr(),
		recipe: []string{ref, from.Name(), runtime.GOARCH},
		step:   ref + " (downloading)",
		build: func(dir string) error {
			image, err := remote.Image(from, remote.WithContext(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
			if err != nil {
				return fmt.Errorf("pulling %s: %w", from, err)
			}
			if err := c.saveImage(image, tag, tarPath(dir, ref)); err != nil {
				return fmt.Errorf("pulling %s: %w", from, err)
			}
			return nil
		},
	})
	return tarPath(dir, ref), err
}

// saveImage writes the archive of an image, and reports how much of it is written.
func (c *Cache) saveImage(image v1.Image, tag name.Tag, file string) error {
	updates := make(chan v1.Update, 100)
	saved := make(chan error, 1)
	go func() {
		err := tarball.WriteToFile(file, tag, image, tarball.WithProgress(updates))
		close(updates)
		saved <- err
	}()
	for update := range updates {
		if update.Error == nil && update.Total > 0 {
			c.progress(float64(update.Complete)/float64(update.Total), fmt.Sprintf("%d of %d MB", update.Complete/1e6, update.Total/1e6))
		}
	}
	return <-saved
}
