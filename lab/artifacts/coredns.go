package artifacts

import (
	"context"
	"fmt"
	"strings"
)

// corednsPlugins are what kubeadm's Corefile names. CoreDNS's own program has
// all there are, among them clients of three clouds, and compiles for minutes.
// In which order plugins act is fixed in CoreDNS's core, not by this list.
var corednsPlugins = []string{"cache", "errors", "forward", "health", "kubernetes", "log", "loadbalance", "loop", "metrics", "ready", "reload"}

// coredns builds a CoreDNS that serves a kubeadm cluster, and returns the
// folder of the program.
func (c *Cache) coredns(ctx context.Context, version string) (string, error) {
	source := corednsMain()
	return c.obtain(artifact{
		name:   "coredns-v" + version,
		recipe: append([]string{source}, goEnv...),
		step:   "CoreDNS " + version + " (compiling)",
		build: func(dir string) error {
			module := goModule{cache: c, name: "coredns-v" + version}
			requires := []string{"github.com/coredns/coredns@v" + version}
			if err := module.prepare(ctx, map[string]string{"main.go": source}, requires, nil); err != nil {
				return err
			}
			return module.build(ctx, dir, "-s -w", ".")
		},
	})
}

func corednsMain() string {
	var text strings.Builder
	text.WriteString("package main\n\nimport (\n\t\"github.com/coredns/coredns/coremain\"\n")
	for _, plugin := range corednsPlugins {
		fmt.Fprintf(&text, "\t_ \"github.com/coredns/coredns/plugin/%s\"\n", plugin)
	}
	text.WriteString(")\n\nfunc main() { coremain.Run() }\n")
	return text.String()
}
