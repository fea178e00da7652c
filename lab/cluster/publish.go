package cluster

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
)

// PublishOptions make a published image wrong, or a version that was never released, for
// tests.
type PublishOptions struct {
	// Content is the version that the image contains, "v1.34.3". If empty, it is
	// the published version.
	Content string
	// ProgramsOf is the version whose programs are published under this version, "v1.34.4".
	// They say that they are this version. If empty, they are its own.
	ProgramsOf string
	// Corrupt serves an image whose hash differs from the index.
	Corrupt bool
	// Broken is the kind of broken image, one of artifacts.BrokenKinds. Empty: the
	// image works.
	Broken string
}

// Publish offers a version of Kubernetes on the image server, and its
// container images on the registry. It comes from where the lab's first version came
// from. A version that was never built takes minutes.
func (c *Cluster) Publish(ctx context.Context, version string, options PublishOptions) error {
	offered, err := bare(version)
	if err != nil {
		return err
	}
	content := offered
	if options.Content != "" {
		if content, err = bare(options.Content); err != nil {
			return err
		}
	}
	kind, err := artifacts.FindBrokenKind(options.Broken)
	if err != nil {
		return err
	}
	cache, err := c.Cache()
	if err != nil {
		return err
	}
	kubernetes, err := options.kubernetes(ctx, cache, content)
	if err != nil {
		return err
	}
	sysext, err := cache.BrokenSysext(ctx, kubernetes, kind)
	if err != nil {
		return err
	}
	return c.step("publishing v"+offered, func() error {
		if err := c.pushImages(ctx, kubernetes); err != nil {
			return err
		}
		return serve.Publish(c.ServeDir(), sysext, offered, serve.PublishOptions{Corrupt: options.Corrupt})
	})
}

// kubernetes makes what the image contains. Renamed programs are always compiled.
func (o PublishOptions) kubernetes(ctx context.Context, cache *artifacts.Cache, version string) (artifacts.Kubernetes, error) {
	if o.ProgramsOf == "" {
		return cache.Kubernetes(ctx, version)
	}
	former, err := bare(o.ProgramsOf)
	if err != nil {
		return artifacts.Kubernetes{}, err
	}
	return cache.Renamed(ctx, former, version)
}

// Withdraw stops offering a version. Its container images stay in the registry.
func (c *Cluster) Withdraw(version string) error {
	offered, err := bare(version)
	if err != nil {
		return err
	}
	return serve.Withdraw(c.ServeDir(), offered)
}

// LoadImage puts a container image's archive on the lab's registry. Nodes use that
// registry in place of all others, and pull the image by its own reference.
func (c *Cluster) LoadImage(ctx context.Context, tar string) error {
	return serve.PushTar(ctx, registry, tar)
}

// CheckEtcdVersion returns an error that shows the form of a version if this is none.
func CheckEtcdVersion(version string) error {
	if !etcdVersion.MatchString(version) {
		return fmt.Errorf("%q is not a version of etcd: write it as 3.5.35", version)
	}
	return nil
}

// LoadEtcd puts the image of a version of etcd, "3.5.35", on the lab's registry. A version
// that was never built takes a minute.
func (c *Cluster) LoadEtcd(ctx context.Context, version string) (ref string, err error) {
	if err := CheckEtcdVersion(version); err != nil {
		return "", err
	}
	cache, err := artifacts.Open(c.CacheDir(), c.Report)
	if err != nil {
		return "", err
	}
	image, err := cache.EtcdImage(ctx, version)
	if err != nil {
		return "", err
	}
	return image.Ref, c.LoadImage(ctx, image.Tar)
}
