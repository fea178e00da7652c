// The chart command writes the Helm chart: manifests/chart, completed with the objects of
// manifests/. `make chart` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	version := flag.String("version", "dev", "the version of kubectl-upgrade, which is also the image's tag")
	digest := flag.String("digest", "", "the image's digest, sha256:…; empty: the image is selected by its tag")
	out := flag.String("out", "dist/charts", "the folder to write to")
	flag.Parse()
	path, err := write(*root, *version, *digest, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "writing the chart:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
