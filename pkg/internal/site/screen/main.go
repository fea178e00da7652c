// screen records a command in a terminal, and draws the recording as an animated SVG: the
// picture of README.md, by `make docs-screen`.
//
// The recording is an asciicast (https://docs.asciinema.org/manual/asciicast/v2/). It is kept
// beside the picture: what the picture shows can be read there, and drawn again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

const usage = "usage: screen record FILE.cast COMMAND [ARGUMENT...], or screen draw FILE.cast FILE.svg"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped above
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) >= 3 && args[0] == "record":
		made, err := record(ctx, args[2:], os.Stdout)
		if err != nil {
			return err
		}
		return made.write(args[1])
	case len(args) == 3 && args[0] == "draw":
		cast, err := readCast(args[1])
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		return os.WriteFile(filepath.Clean(args[2]), draw(cast), 0o644) //nolint:gosec // a picture of the checkout, for all to read
	}
	return fmt.Errorf("%s", usage)
}
