package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
)

// architectures are those that nodes have, as images name them.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// architecture returns the one that an image's programs are for. An image without
// programs is for this machine's.
func architecture(files map[string]string) (string, error) {
	found := ""
	for _, path := range slices.Sorted(maps.Keys(files)) {
		one, err := programArchitecture(files[path])
		if err != nil {
			return "", err
		}
		if one == "" || one == found {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("%s is for %s, and another program for %s", path, one, found)
		}
		found = one
	}
	if found == "" {
		found = runtime.GOARCH
	}
	return found, nil
}

// programArchitecture returns "" for a file that is no program.
func programArchitecture(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	known, ok := architectures[program.Machine]
	if !ok {
		return "", fmt.Errorf("%s is for %s: nodes are amd64 or arm64", file, program.Machine)
	}
	return known, nil
}
