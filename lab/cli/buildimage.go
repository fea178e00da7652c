package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

func buildImageCommand() *cobra.Command {
	var binaries []string
	var ref, out string
	cmd := &cobra.Command{
		Use:     "build-image",
		Short:   "Make a container image of static programs, with no container engine",
		Example: "  lab build-image --binary bin/node-agent --ref ghcr.io/example/node-agent:dev --out bin/node-agent.tar",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			files := map[string]string{}
			for _, binary := range binaries {
				files["/"+filepath.Base(binary)] = binary
			}
			return image.BuildImage(ref, files, []string{"/" + filepath.Base(binaries[0])}, out)
		},
	}
	cmd.Flags().StringArrayVar(&binaries, "binary", nil, "a program; the first is the image's entrypoint")
	cmd.Flags().StringVar(&ref, "ref", "", "the image's full reference, with a tag")
	cmd.Flags().StringVar(&out, "out", "", "the archive to write")
	for _, name := range []string{"binary", "ref", "out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is two lines further up
		}
	}
	return cmd
}
