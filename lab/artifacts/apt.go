package artifacts

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is one line of apt's sources (or one stanza): where packages of some
// suites come from.
type source struct {
	types, uris, suites, components []string
	disabled                        bool
}

// debianMirror is where this machine gets Debian from, so that the lab uses
// the mirror that its owner chose, or the only one that can be reached. root
// is "/" but in tests.
func debianMirror(root string) (string, error) {
	codename, err := debianCodename(filepath.Join(root, "etc/os-release"))
	if err != nil {
		return "", err
	}
	sources, err := readSources(filepath.Join(root, "etc/apt"))
	if err != nil {
		return "", err
	}
	for _, s := range sources {
		if uri, ok := s.mirrorOf(codename); ok {
			return uri, nil
		}
	}
	return "", fmt.Errorf("apt's sources in /etc/apt name no http mirror of Debian %s main: the lab makes its nodes from that mirror", codename)
}

// mirrorOf is the first address of the source if it carries the release
// itself; a security or third-party archive has no root file system to give.
func (s source) mirrorOf(codename string) (string, bool) {
	if s.disabled || !slices.Contains(s.types, "deb") || !slices.Contains(s.suites, codename) || !slices.Contains(s.components, "main") {
		return "", false
	}
	for _, uri := range s.uris {
		if strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://") {
			return uri, true
		}
	}
	return "", false
}

func debianCodename(osRelease string) (string, error) {
	text, err := os.ReadFile(osRelease)
	if err != nil {
		return "", fmt.Errorf("reading which Debian this is: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = strings.Trim(value, `"'`)
	}
	if values["ID"] != "debian" || values["VERSION_CODENAME"] == "" {
		return "", fmt.Errorf("%s is no Debian release (ID=%s VERSION_CODENAME=%s): the lab needs Debian's own mirror", osRelease, values["ID"], values["VERSION_CODENAME"])
	}
	return values["VERSION_CODENAME"], nil
}

func readSources(dir string) ([]source, error) {
	files := []string{filepath.Join(dir, "sources.list")}
	for _, pattern := range []string{"*.list", "*.sources"} {
		found, err := filepath.Glob(filepath.Join(dir, "sources.list.d", pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	var sources []source
	for _, file := range files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading apt's sources: %w", err)
		}
		if filepath.Ext(file) == ".sources" {
			sources = append(sources, parseStanzas(string(text))...)
		} else {
			sources = append(sources, parseLines(string(text))...)
		}
	}
	return sources, nil
}

// parseLines reads the one-line style of sources.list(5):
// deb [ option=value ] uri suite component…
func parseLines(text string) []source {
	var sources []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if before, rest, ok := strings.Cut(line, "["); ok {
			_, after, _ := strings.Cut(rest, "]")
			line = before + after
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		sources = append(sources, source{types: words[:1], uris: words[1:2], suites: words[2:3], components: words[3:]})
	}
	return sources
}

// parseStanzas reads the deb822 style: fields that may go on in indented
// lines, in paragraphs with empty lines between.
func parseStanzas(text string) []source {
	var sources []source
	var current source
	var field *[]string
	flush := func() {
		if len(current.uris) > 0 {
			sources = append(sources, current)
		}
		current, field = source{}, nil
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if field != nil {
				*field = append(*field, strings.Fields(line)...)
			}
		default:
			key, value, _ := strings.Cut(line, ":")
			field = current.field(key, strings.TrimSpace(value))
			if field != nil {
				*field = strings.Fields(value)
			}
		}
	}
	flush()
	return sources
}

func (s *source) field(key, value string) *[]string {
	switch strings.ToLower(key) {
	case "types":
		return &s.types
	case "uris":
		return &s.uris
	case "suites":
		return &s.suites
	case "components":
		return &s.components
	case "enabled":
		s.disabled = slices.Contains([]string{"no", "false", "without", "off", "disable"}, strings.ToLower(value))
	}
	return nil
}
