package facts

import (
	"strings"
	"testing"
)

// Commands, environment files and containerd's configuration are the host's; whatever
// stands in them, what was found in them has names.
func FuzzEnvironment(f *testing.F) {
	f.Add("/usr/bin/kubelet\n$A\n--v=${D}\n--feature-gates=X=true,Y=false", "A='--node-ip=1.2.3.4'\nD=\"e\"")
	f.Add("/x\n${A", "=\n#\n\\")
	f.Add("/x\n$", "A=\"")
	f.Fuzz(func(t *testing.T, command, file string) {
		s := service{command: strings.Split(command, "\n")}
		args := s.arguments(environmentFile(file))
		found := parseFlags(args)
		for _, name := range found.names() {
			if name == "" || strings.HasPrefix(name, "-") {
				t.Errorf("%q has a flag %q", args, name)
			}
			for _, gate := range found.gates(name) {
				if gate == "" {
					t.Errorf("%q has a feature gate without a name", args)
				}
			}
		}
		_ = tomlRoot(file)
	})
}
