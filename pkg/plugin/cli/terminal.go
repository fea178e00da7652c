package cli

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// checkColor checks the flag --color.
func (p *program) checkColor() error {
	switch p.color {
	case "auto", "always", "never":
		return nil
	}
	return fmt.Errorf("--color=%s: must be auto, always or never", p.color)
}

// terminal returns the size of the terminal that output goes to, if it goes to one.
func (p *program) terminal() (width, height int, yes bool) {
	file, ok := p.terminalOut.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(file.Fd()))
	return width, height, err == nil
}

// drawing returns the options for what is drawn now.
func (p *program) drawing() render.Options {
	width, _, terminal := p.terminal()
	// https://no-color.org: any value but the empty one.
	colored := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return render.Options{
		Now:   p.now(),
		Zone:  time.Local,
		Width: width,
		Color: p.color == "always" || p.color == "auto" && colored,
	}
}
