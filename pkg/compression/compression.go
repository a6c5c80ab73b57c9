// Package compression keeps objects compressed in etcd. The field ownership that every object carries (metadata.managedFields) is text
// that repeats itself, and in an inventory it is often half of an object.
//
// It may import apimachinery and apiserver only.
package compression

import (
	"bytes"
	"context"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

const (
	// smallest is the size below which a value is kept as it is: there is little to gain.
	smallest = 256
	// largest is the size from which a value is kept as it is. Below it a value fits into etcd's limit of 1.5 MiB anyhow; above it
	// whether an object is too large must not depend on how well its text compresses.
	largest = 1 << 20
	// window is how far back the encoder looks, and what an encoder and a decoder keep in memory. Objects are some kilobytes.
	window = 128 << 10
)

// magic begins each Zstandard frame (RFC 8878, section 3.1.1). Neither protobuf, JSON nor CBOR as the API machinery stores them begins
// like this, nor does an encrypted value.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// transformer compresses before inner writes, and reads both what is compressed and what is not.
type transformer struct {
	inner   value.Transformer
	write   bool
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// New returns a transformer that compresses values with Zstandard (RFC 8878) and hands them to inner, which may encrypt them; nil leaves
// them so. Without write it only reads what is compressed.
func New(inner value.Transformer, write bool) (value.Transformer, error) {
	if inner == nil {
		inner = identity.NewEncryptCheckTransformer()
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(largest), zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, err
	}
	return &transformer{inner, write, encoder, decoder}, nil
}

// TransformToStorage implements value.Write.
func (t *transformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	if t.write && len(data) >= smallest && len(data) < largest {
		if packed := t.encoder.EncodeAll(data, make([]byte, 0, len(data)/2)); len(packed) < len(data) {
			data = packed
		}
	}
	return t.inner.TransformToStorage(ctx, data, dataCtx)
}

// TransformFromStorage implements value.Read. A compressed value is stale for a server that does not compress, so that a storage migration
// writes it as others can read it. One that is not compressed is not stale for one that does: it is compressed when it changes.
func (t *transformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	plain, stale, err := t.inner.TransformFromStorage(ctx, data, dataCtx)
	if err != nil || !bytes.HasPrefix(plain, magic) {
		return plain, stale, err
	}
	if plain, err = t.decoder.DecodeAll(plain, nil); err != nil {
		return nil, false, fmt.Errorf("cannot decompress what etcd holds: %w", err)
	}
	return plain, stale || !t.write, nil
}
