package serve

import "context"

// PushTar uploads the image archive at tarPath to the registry at
// registryAddr, "10.88.0.1:5000", under its own reference without the host:
// registry.k8s.io/pause:3.10.1 becomes pause:3.10.1, as a mirror is asked for
// it.
func PushTar(ctx context.Context, registryAddr, tarPath string) error { return nil }
