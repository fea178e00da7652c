package etcd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// Verified describes a verified snapshot.
type Verified struct {
	// SHA256 of the whole file, in lower-case hex, as sha256sum prints it.
	SHA256 string
	// Bytes is the file's size.
	Bytes int64
}

// Verify compares a snapshot with the checksum that etcd appended when it sent it: the last
// 32 bytes are the SHA-256 of all before them. `etcdutl snapshot restore` does the same
// first.
func Verify(path string) (Verified, error) {
	file, err := os.Open(path)
	if err != nil {
		return Verified{}, fmt.Errorf("opening a snapshot: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Verified{}, fmt.Errorf("reading a snapshot: %w", err)
	}
	body := info.Size() - sha256.Size
	if body <= 0 {
		return Verified{}, fmt.Errorf("%s has %d bytes: it is no snapshot of etcd", path, info.Size())
	}
	content, whole := sha256.New(), sha256.New()
	if err := read(file, body, content, whole); err != nil {
		return Verified{}, err
	}
	var trailer bytes.Buffer
	if err := read(file, sha256.Size, &trailer, whole); err != nil {
		return Verified{}, err
	}
	if !bytes.Equal(trailer.Bytes(), content.Sum(nil)) {
		return Verified{}, fmt.Errorf("%s is damaged: its content does not have the SHA-256 at its end", path)
	}
	return Verified{SHA256: sum(whole), Bytes: info.Size()}, nil
}

func read(file io.Reader, bytes int64, into ...io.Writer) error {
	if _, err := io.CopyN(io.MultiWriter(into...), file, bytes); err != nil {
		return fmt.Errorf("reading a snapshot: %w", err)
	}
	return nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
