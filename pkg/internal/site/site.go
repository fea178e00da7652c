package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// site is a version of the website. Paths of the checkout are relative to root, with slashes.
type site struct {
	root, version string
	pages         []*page
	images        []string
	titles        map[string]string // of each path that is linked to
	queue         []string
	problems      []error
}

// page is a page of the website.
type page struct {
	path     string // in the checkout
	title    string
	body     string // HTML
	headings []heading
	sections []section
	menu     []menu // of the index alone
}

func newSite(root, version string) *site {
	return &site{root: root, version: version, titles: map[string]string{}}
}

// read reads a file, and all to which it links, directly or not.
func (s *site) read(first string) error {
	s.titles[first] = first
	s.queue = append(s.queue, first)
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		if isImage(next) {
			s.images = append(s.images, next)
			continue
		}
		p, err := s.load(next)
		if err != nil {
			return fmt.Errorf("%s: %w", next, err)
		}
		s.titles[next] = p.title
		s.pages = append(s.pages, p)
	}
	return nil
}

func (s *site) load(name string) (*page, error) {
	file := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return s.folder(name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if path.Ext(name) == ".md" {
		return s.markdown(name, text)
	}
	return source(name, text), nil
}

var errOutside = errors.New("is outside of the repository")

// link returns the link of the website for a link in the file from, and queues its target.
func (s *site) link(from, to string) (string, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	to, fragment, _ := strings.Cut(to, "#")
	target := path.Join(path.Dir(from), to)
	if !filepath.IsLocal(filepath.FromSlash(target)) {
		return "", errOutside
	}
	if target = s.readme(target); !s.seen(target) {
		if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(target))); err != nil {
			return "", err
		}
		s.titles[target] = target
		s.queue = append(s.queue, target)
	}
	href := relative(outPath(from), outPath(target))
	if fragment != "" {
		href += "#" + fragment
	}
	return href, nil
}

func (s *site) seen(target string) bool { _, seen := s.titles[target]; return seen }

// readme returns the README.md of a folder that has one.
func (s *site) readme(target string) string {
	readme := path.Join(target, "README.md")
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(readme))); err == nil {
		return readme
	}
	return target
}

func isImage(name string) bool {
	return path.Ext(name) == ".png" || path.Ext(name) == ".svg"
}
