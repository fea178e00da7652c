package image

import (
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Content opens a layer's tar archive for reading; each call starts from the beginning.
type Content func() (io.ReadCloser, error)

// Uncompressed is a layer that travels and lies as the plain tar archive it
// is: its digest and its diff ID are one. It reads content once, to hash it.
func Uncompressed(content Content) (v1.Layer, error) {
	r, err := content()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash, size, err := v1.SHA256(r)
	if err != nil {
		return nil, err
	}
	return plain{hash: hash, size: size, content: content}, nil
}

func fileContent(name string) Content {
	return func() (io.ReadCloser, error) { return os.Open(name) }
}

type plain struct {
	hash    v1.Hash
	size    int64
	content Content
}

func (p plain) Digest() (v1.Hash, error)             { return p.hash, nil }
func (p plain) DiffID() (v1.Hash, error)             { return p.hash, nil }
func (p plain) Size() (int64, error)                 { return p.size, nil }
func (p plain) Compressed() (io.ReadCloser, error)   { return p.content() }
func (p plain) Uncompressed() (io.ReadCloser, error) { return p.content() }
func (p plain) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
