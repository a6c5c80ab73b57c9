// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// LoadSamples writes the manifests of a folder with server-side apply, in the order of the files' names, and then the status of those
// that have one. It may run again. A server without namespaces, as a standalone one is, accepts any name, so there they are left out.
// Warnings of the server go to the configuration's handler, and nowhere if it has none.
func LoadSamples(ctx context.Context, config *rest.Config, dir string) (count int, err error) {
	objects, err := readManifests(dir)
	if err != nil {
		return 0, err
	}
	if config.WarningHandler == nil {
		config = rest.CopyConfig(config)
		config.WarningHandler = rest.NoWarnings{}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, err
	}
	groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, discoverer)
	if err != nil {
		return 0, fmt.Errorf("what does the server have: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) && gvk.GroupKind() == namespaceKind {
			continue
		}
		if err == nil {
			err = applyObject(ctx, client.Resource(mapping.Resource).Namespace(object.GetNamespace()), object)
		}
		if err != nil {
			return count, fmt.Errorf("%s %s/%s: %w", gvk.Kind, object.GetNamespace(), object.GetName(), err)
		}
		count++
	}
	return count, nil
}

// applyObject does in two requests what a status subresource does not allow in one.
func applyObject(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	options := metav1.ApplyOptions{FieldManager: "binnacle-samples", Force: true}
	status, hasStatus := object.Object["status"]
	delete(object.Object, "status")
	if _, err := client.Apply(ctx, object.GetName(), object, options); err != nil || !hasStatus {
		return err
	}
	withStatus := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	withStatus.SetGroupVersionKind(object.GroupVersionKind())
	withStatus.SetName(object.GetName())
	withStatus.SetNamespace(object.GetNamespace())
	if _, err := client.ApplyStatus(ctx, object.GetName(), withStatus, options); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

func readManifests(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no *.yaml in %s", dir)
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := SplitManifests(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// SplitManifests decodes the documents of a YAML file. One with comments only is left out.
func SplitManifests(data []byte) ([]*unstructured.Unstructured, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 { // comments only
			objects = append(objects, object)
		}
	}
}
