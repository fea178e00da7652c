package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program is the header of a program for that machine.
func program(t *testing.T, machine elf.Machine) string {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var content bytes.Buffer
	if err := binary.Write(&content, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	return source(t, content.String(), 0o755, time.Now())
}

func TestImageHasTheArchitectureOfItsPrograms(t *testing.T) {
	amd64, arm64 := program(t, elf.EM_X86_64), program(t, elf.EM_AARCH64)
	text := source(t, "#!/bin/sh\n", 0o755, time.Now())
	for name, c := range map[string]struct {
		files map[string]string
		want  string // an architecture, or a part of the error
	}{
		"amd64":           {map[string]string{"/a": amd64, "/b": amd64, "/text": text}, "amd64"},
		"arm64":           {map[string]string{"/a": arm64, "/text": text}, "arm64"},
		"no program":      {map[string]string{"/text": text, "/empty": source(t, "", 0o644, time.Now())}, runtime.GOARCH},
		"both":            {map[string]string{"/a": amd64, "/b": arm64}, "/b is for arm64, and another program for amd64"},
		"something other": {map[string]string{"/a": program(t, elf.EM_RISCV)}, "is for EM_RISCV: nodes are amd64 or arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "image.tar")
			if err := BuildImage(ref, c.files, nil, out); err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got error %v, want %q", err, c.want)
				}
				return
			}
			img, err := tarball.ImageFromPath(out, nil)
			if err != nil {
				t.Fatal(err)
			}
			if config, err := img.ConfigFile(); err != nil || config.Architecture != c.want {
				t.Errorf("got %q (%v), want %q", config.Architecture, err, c.want)
			}
		})
	}
}
