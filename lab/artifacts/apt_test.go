package artifacts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const bookworm = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n"

func TestDebianMirror(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string
		err   string
	}{
		"stanzas, after a security archive": {
			files: map[string]string{"etc/apt/sources.list.d/debian.sources": `Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main

Types: deb deb-src
# a comment inside a stanza
URIs:
 http://mirror.example/debian
 http://second.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`},
			want: "http://mirror.example/debian",
		},
		"one line each, with options": {
			files: map[string]string{"etc/apt/sources.list": `# deb http://commented.example/debian bookworm main
deb-src http://sources.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian bookworm main contrib # chosen
`},
			want: "https://mirror.example/debian",
		},
		"third parties and disabled stanzas are passed over": {
			files: map[string]string{
				"etc/apt/sources.list.d/a.list":    "deb https://vendor.example/apt vendor-bookworm main\n",
				"etc/apt/sources.list.d/b.sources": "Enabled: no\nTypes: deb\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\n",
				"etc/apt/sources.list.d/c.sources": "types: deb\nuris: http://on.example/debian\nsuites: bookworm\ncomponents: main\n",
			},
			want: "http://on.example/debian",
		},
		"a file that apt does not read": {
			files: map[string]string{"etc/apt/sources.list.d/debian.sources.off": "Types: deb\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\n"},
			err:   "name no http mirror of Debian bookworm main",
		},
		"another medium": {
			files: map[string]string{"etc/apt/sources.list": "deb cdrom:[Debian]/ bookworm main\n"},
			err:   "name no http mirror",
		},
		"another distribution": {
			files: map[string]string{"etc/os-release": "ID=fedora\n"},
			err:   "is no Debian release",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "etc/os-release", bookworm)
			for name, text := range test.files {
				write(t, root, name, text)
			}
			got, err := debianMirror(root)
			if got != test.want {
				t.Errorf("mirror is %q, want %q", got, test.want)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error is %v, want %q", err, test.err)
			}
		})
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
