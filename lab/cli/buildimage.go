package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

func buildImageCommand() *cobra.Command {
	var binary, ref, out string
	cmd := &cobra.Command{
		Use:     "build-image",
		Short:   "Make a container image of a static program, with no container engine",
		Example: "  lab build-image --binary bin/node-agent --ref ghcr.io/example/node-agent:dev --out bin/node-agent.tar",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			program := "/" + filepath.Base(binary)
			return image.BuildImage(ref, map[string]string{program: binary}, []string{program}, out)
		},
	}
	cmd.Flags().StringVar(&binary, "binary", "", "the program: the image's entrypoint")
	cmd.Flags().StringVar(&ref, "ref", "", "the image's full reference, with a tag")
	cmd.Flags().StringVar(&out, "out", "", "the archive to write")
	for _, name := range []string{"binary", "ref", "out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is two lines further up
		}
	}
	return cmd
}
