// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is nobody's: a number, so that runAsNonRoot can see that it is not root.
const user = "65532:65532"

// name is what the image is called, and the only file in it.
func (b build) name() string { return "binnacle-" + b.component }

// write writes the images of binaries by architecture.
func (b build) write(binaries map[string]string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(binaries)) {
		image, err := b.image(arch, binaries[arch])
		if err != nil {
			return err
		}
		tag, err := name.NewTag(b.name() + ":" + b.release)
		if err != nil {
			return err
		}
		path := filepath.Join(b.out, fmt.Sprintf("%s-%s-linux-%s.tar", b.name(), b.release, arch))
		if err := tarball.WriteToFile(path, tag, image); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
		fmt.Println(path)
	}
	oci := filepath.Join(b.out, "oci")
	// What an earlier build left there would stay beside the new one.
	if err := os.RemoveAll(oci); err != nil {
		return err
	}
	if _, err := layout.Write(oci, index); err != nil {
		return err
	}
	fmt.Println(oci)
	return nil
}

// image is a binary on nothing.
func (b build) image(arch, binary string) (v1.Image, error) {
	content, err := b.layer(binary)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: "hack/image", Created: v1.Time{Time: b.created}},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: b.created}
	config.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/" + b.name()},
		WorkingDir: "/",
		// So that kubectl exec finds the binary by its name: there is no shell.
		Env: []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    b.name(),
			"org.opencontainers.image.version":  b.release,
			"org.opencontainers.image.revision": b.commit,
			"org.opencontainers.image.source":   "https://github.com/binnacle-dev/binnacle",
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, config)
}

// layer is an archive with the binary.
func (b build) layer(binary string) ([]byte, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: b.name(), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content)), ModTime: b.created}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return archive.Bytes(), w.Close()
}
