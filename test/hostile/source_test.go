package hostile_test

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/gpgtest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/hostile"
)

// zeros is a hash.
var zeros = strings.Repeat("0", 64)

// indexes are what a folder of images may answer for its index, and for the signature beside it.
var indexes = []struct {
	what             string
	index, signature func() []byte
}{
	{"images", numbered(zeros + "  kubernetes-v1.34.%d-x86-64.raw\n"), nil},
	{"short names", numbered(zeros + "  kubernetes-%d.raw\n"), nil},
	{"an image again and again", hostile.Answer("", zeros+"  kubernetes-v1.34.4-x86-64.raw\n", ""), nil},
	{"other files", hostile.Answer("", zeros+"  a\n", ""), nil},
	{"empty lines", hostile.Answer("", "\n", ""), nil},
	{"one line", hostile.Answer(zeros+"  ", "a", "\n"), nil},
	{"a wrong last line", hostile.Answer("", zeros+"  a\n", "<html>"), nil},
	{"no end", func() []byte { return bytes.Repeat([]byte("\n"), 64<<20) }, nil},
	{"a signature without end", hostile.Answer("", "\n", ""), func() []byte { return make([]byte, 64<<20) }},
	{"a signature of many packets", hostile.Answer("", "\n", ""), func() []byte { return []byte(strings.Repeat("\xc2\x00", 30_000)) }},
	{"a signature that is compressed", hostile.Answer("", "\n", ""), compressed},
	{"an armored signature", hostile.Answer("", "\n", ""), func() []byte {
		return []byte("-----BEGIN PGP SIGNATURE-----\n" + strings.Repeat("a: b\n", 12_000) + "\n-----END PGP SIGNATURE-----\n")
	}},
}

// numbered fills 4 MiB with a line in which the number differs.
func numbered(line string) func() []byte {
	return func() []byte {
		var text []byte
		for i := 0; len(text) < image.IndexSize-len(line)-8; i++ {
			text = fmt.Appendf(text, line, i)
		}
		return text
	}
}

// compressed is an OpenPGP packet of 60 KiB whose content is a thousand times as large.
func compressed() []byte {
	text := bytes.NewBuffer([]byte{0xa3, 1}) // without a length, in raw DEFLATE
	writer, err := flate.NewWriter(text, flate.BestCompression)
	if err == nil {
		_, err = writer.Write(bytes.Repeat([]byte{0xc2, 0}, 30<<20))
	}
	if err = errors.Join(err, writer.Close()); err != nil {
		panic(err)
	}
	return text.Bytes()
}

// TestHostileIndex checks how much memory the folder with the images takes from the programs that read its index:
// the coordinator, whose code the plugin runs too, and a node's host.
func TestHostileIndex(t *testing.T) {
	key := gpgtest.NewKey(t, "mirror").Public
	for reader, read := range map[string]func(from v1alpha1.ImageSource, folder string){
		"coordinator": func(from v1alpha1.ImageSource, _ string) {
			poller := source.NewPoller(from)
			for range 3 { // what was read before is still there
				poller.Read(context.Background())
			}
		},
		"host": func(from v1alpha1.ImageSource, folder string) {
			arguments := verb.StageArgs{Version: "v1.34.4", URL: from.URL + "/kubernetes-v1.34.4-x86-64.raw", SHA256: zeros[1:] + "1", Keyring: from.Keyring}
			_, err := sysupdate.Stage(context.Background(), host.Layout{Dir: folder}, arguments, host.NewLog(io.Discard))
			if err == nil {
				fmt.Println("the image was staged")
			}
		},
	} {
		for _, row := range indexes {
			t.Run(reader+"/"+row.what, func(t *testing.T) {
				var asked atomic.Int32
				peak := hostile.Peak(t, func() string {
					index, signature := row.index(), []byte{}
					if row.signature != nil {
						signature = row.signature()
					}
					folder := t.TempDir() // of a node
					link := folder + host.Link
					if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("/opt/extensions/kubernetes/kubernetes-v1.34.3-x86-64.raw", link)); err != nil {
						t.Fatal(err)
					}
					return folder + "\n" + hostile.Server(t, false, func(path string) []byte {
						asked.Add(1)
						if strings.HasSuffix(path, image.SignatureName) {
							return signature
						}
						return index
					}).URL
				}, func(input string) {
					folder, address, _ := strings.Cut(input, "\n")
					from := v1alpha1.ImageSource{URL: address, TransportPolicy: v1alpha1.TransportAllowHTTP}
					if row.signature != nil {
						from.Keyring = key
					}
					read(from, folder)
				})
				if asked.Load() == 0 {
					t.Error("the server is not asked")
				}
				if t.Logf("%d MiB", peak); peak > 60 {
					t.Errorf("it takes %d MiB, want at most 60", peak)
				}
			})
		}
	}
}
