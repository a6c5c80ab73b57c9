package compression

import (
	"bytes"
	"crypto/aes"
	"crypto/rand"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/storage/value"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
)

var dataCtx = value.DefaultContext("/registry/binnacle/a")

func compressing(t *testing.T, inner value.Transformer, write bool) value.Transformer {
	t.Helper()
	transformer, err := New(inner, write)
	if err != nil {
		t.Fatal(err)
	}
	return transformer
}

func noise(t *testing.T, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), data...)
}

func TestRoundTrip(t *testing.T) {
	text := []byte("k8s\x00" + strings.Repeat(`{"f:status":{"f:conditions":{}}}`, 100))
	tests := []struct {
		name   string
		data   []byte
		packed bool
	}{
		{"empty", nil, false},
		{"small", text[:smallest-1], false},
		{"just large enough", text[:smallest], true},
		{"an object", text, true},
		{"nothing to gain", noise(t, 4000), false},
		{"almost the largest", bytes.Repeat([]byte{'k'}, largest-1), true},
		{"too large to depend on its text", bytes.Repeat([]byte{'k'}, largest), false},
	}
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			transformer := compressing(t, nil, true)
			stored, err := transformer.TransformToStorage(t.Context(), test.data, dataCtx)
			if err != nil {
				t.Fatal(err)
			}
			if packed := bytes.HasPrefix(stored, magic); packed != test.packed || packed && len(stored) >= len(test.data) {
				t.Errorf("compressed: %t, from %d to %d bytes", packed, len(test.data), len(stored))
			}
			gcm, err := aestransformer.NewGCMTransformer(block)
			if err != nil {
				t.Fatal(err)
			}
			encrypting := compressing(t, gcm, true)
			hidden, err := encrypting.TransformToStorage(t.Context(), test.data, dataCtx)
			if err != nil || bytes.Contains(hidden, magic) {
				t.Errorf("encrypted: %.40q, %v", hidden, err)
			}
			for name, read := range map[string]struct {
				by    value.Transformer
				data  []byte
				stale bool
			}{
				"back": {transformer, stored, false}, "without compression": {compressing(t, nil, false), stored, test.packed},
				"as it was": {transformer, test.data, false}, "decrypted": {encrypting, hidden, false},
			} {
				got, stale, err := read.by.TransformFromStorage(t.Context(), read.data, dataCtx)
				if err != nil || stale != read.stale || !bytes.Equal(got, test.data) {
					t.Errorf("%s: %d bytes of %d, stale %t, %v", name, len(got), len(test.data), stale, err)
				}
			}
		})
	}
}

func TestWithoutCompressionNothingIsCompressed(t *testing.T) {
	data := bytes.Repeat([]byte("text "), 1000)
	stored, err := compressing(t, nil, false).TransformToStorage(t.Context(), data, dataCtx)
	if err != nil || !bytes.Equal(stored, data) {
		t.Errorf("%d bytes became %d, %v", len(data), len(stored), err)
	}
}

// TestDamage wants an error for what cannot be read, and no attempt to hold in memory what a frame claims to be.
func TestDamage(t *testing.T) {
	transformer := compressing(t, nil, true)
	good, err := transformer.TransformToStorage(t.Context(), bytes.Repeat([]byte("text "), 1000), dataCtx)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for name, data := range map[string][]byte{
		"cut": good[:len(good)/2], "flipped": flipped, "magic alone": magic, "encrypted": []byte("k8s:enc:aescbc:v1:key:abc"),
		"claims a terabyte": append(bytes.Clone(magic), 0xe0, 0, 0, 0, 0, 0, 1, 0, 0),
	} {
		if got, _, err := transformer.TransformFromStorage(t.Context(), data, dataCtx); err == nil {
			t.Errorf("%s: read as %.40q", name, got)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	transformer := compressing(t, nil, true)
	done := make(chan error)
	for i := range 32 {
		go func() {
			data := bytes.Repeat([]byte{byte(i), 'x', 'y'}, 500)
			stored, err := transformer.TransformToStorage(t.Context(), data, dataCtx)
			if err == nil {
				var got []byte
				if got, _, err = transformer.TransformFromStorage(t.Context(), stored, dataCtx); err == nil && !bytes.Equal(got, data) {
					t.Error("the value of another")
				}
			}
			done <- err
		}()
	}
	for range 32 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
