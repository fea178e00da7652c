package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	out := flag.String("out", "bin/site", "the folder of the website, which may have other versions")
	version := flag.String("version", "", "what this version is called")
	flag.Parse()
	if err := run(*root, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run writes a version of the website, checks it, and lists it with the others.
func run(root, out, version string) error {
	if version == "" || version != filepath.Base(version) {
		return fmt.Errorf("-version %q: must be the name of a folder, such as v1.2.3", version)
	}
	dir := filepath.Join(out, version)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s := newSite(root, version)
	if err := s.read("README.md"); err != nil { // the landing page
		return err
	}
	if err := s.write(dir); err != nil {
		return err
	}
	links, problems := check(dir)
	if problems = append(s.problems, problems...); len(problems) > 0 {
		return errors.Join(problems...)
	}
	fmt.Printf("%s: %d pages, %d links within the site lead to a page and a heading of it\n", dir, len(s.pages), links)
	return writeVersions(out, version)
}
