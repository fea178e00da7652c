package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// imageName is the image's name in the manifests.
const imageName = "ghcr.io/kubectl-upgrade/node-agent"

// writeInstall writes the objects of a kustomization as one file. image has a tag and
// a digest, so that a registry can give no other image.
func writeInstall(manifests, image, out string) error {
	name, digest, ok := strings.Cut(image, "@")
	tag := name[strings.LastIndex(name, ":")+1:]
	if !ok || strings.Contains(tag, "/") || tag == name {
		return fmt.Errorf("--image=%s: want NAME:TAG@DIGEST", image)
	}
	objects, err := kustomize(manifests, types.Image{
		Name: imageName, NewName: strings.TrimSuffix(name, ":"+tag), NewTag: tag, Digest: digest,
	})
	if err != nil {
		return fmt.Errorf("rendering %s: %w", manifests, err)
	}
	header := "# kubectl-upgrade " + tag + ": kubectl apply --server-side -f " + filepath.Base(out) + "\n"
	return os.WriteFile(out, append([]byte(header), objects...), 0o644) //nolint:gosec // for everybody to read
}

// kustomize renders the manifests through a kustomization that sets the image.
func kustomize(manifests string, image types.Image) ([]byte, error) {
	overlay, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	if overlay, err = os.MkdirTemp(overlay, "install-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(overlay)
	if manifests, err = filepath.Abs(manifests); err != nil {
		return nil, err
	}
	base, err := filepath.Rel(overlay, manifests)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(types.Kustomization{Resources: []string{base}, Images: []types.Image{image}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), text, 0o600); err != nil {
		return nil, err
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}
