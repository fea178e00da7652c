package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// namedFile is a file that an argument or a variable names.
type namedFile struct{ by, file string }

// checkDevices refuses devices for files that are read as a whole: /dev/zero has no end.
func (p *program) checkDevices(cmd *cobra.Command) error {
	named := []namedFile{
		{"--kubeconfig", *p.cluster.KubeConfig}, {"--certificate-authority", *p.cluster.CAFile},
		{"--client-certificate", *p.cluster.CertFile}, {"--client-key", *p.cluster.KeyFile},
	}
	for _, file := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
		named = append(named, namedFile{"$KUBECONFIG", file})
	}
	for _, name := range []string{"output", "template", "snapshot"} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			value := flag.Value.String()
			if format, file, has := strings.Cut(value, "="); has && (strings.HasSuffix(format, "-file") || format == "templatefile") {
				value = file
			}
			named = append(named, namedFile{"--" + name, value})
		}
	}
	i := slices.IndexFunc(named, func(n namedFile) bool { return isDevice(n.file) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("%s names %s, which is a device and no file", named[i].by, named[i].file)
}

// isDevice reports whether the file is a device that may have no end.
func isDevice(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
