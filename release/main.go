// Command release makes the files of a release that GoReleaser does not: the node
// agent's image, install.yaml, and the SBOM of programs. CONTRIBUTING.md describes
// a release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = `usage:
  release image --source DIR --version V --revision COMMIT --created TIME --out DIR
      builds the node agent's image for all platforms, and prints its digest
  release install --manifests DIR --image NAME:TAG@DIGEST --out FILE
      writes the manifests, with that image, as one file
  release krew --template FILE --checksums FILE --name NAME --version V --out FILE
      writes the manifest of krew for one name of the plugin
  release sbom --program FILE[,FILE...] --version V --created TIME --out FILE
      writes the SBOM of Go programs`

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	text := func(name string) *string { return flags.String(name, "", "") }
	source, version, revision, created := text("source"), text("version"), text("revision"), text("created")
	manifests, image, program, out := text("manifests"), text("image"), text("program"), text("out")
	manifest, checksums, name := text("template"), text("checksums"), text("name")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "image":
		when, err := time.Parse(time.RFC3339, *created)
		if err != nil {
			return err
		}
		digest, err := build{source: *source, version: *version, revision: *revision, created: when}.write(ctx, *out)
		if err != nil {
			return fmt.Errorf("building the image: %w", err)
		}
		fmt.Println(digest)
		return nil
	case "install":
		return writeInstall(*manifests, *image, *out)
	case "krew":
		return writeKrew(*manifest, *checksums, plugin{Name: *name, Version: *version}, *out)
	case "sbom":
		return writeSBOM(strings.Split(*program, ","), *version, *created, *out)
	}
	return fmt.Errorf("%q is no command\n%s", strings.Join(args, " "), usage)
}
