package main

import (
	"path"
	"path/filepath"
	"strings"
)

// outPath returns the file of the website for a file or folder of the checkout. Web servers hide
// names that begin with a dot.
func outPath(name string) string {
	elements := strings.Split(name, "/")
	for i, element := range elements {
		elements[i] = strings.TrimLeft(element, ".")
	}
	out := path.Join(elements...)
	switch {
	case path.Base(name) == "README.md":
		return path.Join(path.Dir(out), "index.html")
	case path.Ext(name) == ".md":
		return strings.TrimSuffix(out, ".md") + ".html"
	case isImage(name):
		return out
	}
	return out + ".html"
}

// relative returns a link from one file to another.
func relative(from, to string) string {
	link, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		panic(err) // both are relative to the same folder
	}
	return filepath.ToSlash(link)
}

// up returns the link from a file to the folder of its version: "", "../", …
func up(from string) string { return strings.Repeat("../", strings.Count(from, "/")) }
