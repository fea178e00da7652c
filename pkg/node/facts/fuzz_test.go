package facts

import (
	"strings"
	"testing"
)

// Units, environment files and containerd's configuration are the host's; whatever
// stands in them, what was found in them has names.
func FuzzUnit(f *testing.F) {
	f.Add("[Service]\nEnvironment=\"A=b c\" D=e\nEnvironmentFile=-/x\nExecStart=/usr/bin/kubelet $A --v=${D} --feature-gates=X=true,Y=false\n", "A='--node-ip=1.2.3.4'\n")
	f.Add("[Service]\nExecStart=/x \\\n  \"unended", "=\n#\n\\")
	f.Add("ExecStart=$", "A=\"")
	f.Fuzz(func(t *testing.T, unit, file string) {
		var s service
		s.add(unit)
		args, err := s.arguments(environmentFile(file))
		if err != nil {
			return
		}
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
		_ = tomlRoot(unit)
	})
}
