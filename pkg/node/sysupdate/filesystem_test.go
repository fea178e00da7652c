package sysupdate

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

func TestWhyUnmountable(t *testing.T) {
	at := func(offset int, magic string) []byte { return append(make([]byte, offset), magic+"rest"...) }
	squashfs := func(used uint64) []byte {
		return binary.LittleEndian.AppendUint64(append([]byte("hsqs"), make([]byte, 36)...), used)
	}
	const kernel = "nodev\tproc\n\tsquashfs\n\text4\n"
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "empty"},
		"cut off":        {squashfs(4096), "a squashfs of 4096 bytes, of which the file has 48"},
		"damaged":        {squashfs(48), "a damaged file system of the kind squashfs"},
		"no module":      {at(1024, "\xe2\xe1\xf5\xe0"), "of the kind erofs, which the node's kernel does not know"},
		"ext4":           {at(1080, "\x53\xef"), "a damaged file system of the kind ext4"},
		"partitions":     {at(512, "EFI PART"), "a disk with partitions"},
		"gzip":           {[]byte("\x1f\x8b\x08"), "compressed with gzip"},
		"zstd":           {[]byte("\x28\xb5\x2f\xfd."), "compressed with zstd"},
		"an error page":  {[]byte("<!DOCTYPE html>"), "a page of a web server"},
		"something else": {[]byte("half of"), "no file system that is known"},
	} {
		if got := whyUnmountable(bytes.NewReader(test.data), int64(len(test.data)), kernel); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
