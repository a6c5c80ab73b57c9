package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

const (
	fieldManager = "syncer"
	// label on what is brought names the decision that it was brought for. Nothing without it is ever removed.
	label = "syncer.example.com/decision-key"
)

// object returns the object of the manifest for a cluster, and the way to it there.
func (m *members) object(profile *v1alpha2.ClusterProfile, text, key string) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "$(CLUSTER)", profile.Name)), object); err != nil {
		return nil, nil, fmt.Errorf("manifest: %w", err)
	}
	object.SetLabels(labels.Merge(object.GetLabels(), labels.Set{label: key}))
	on, err := m.connect(profile)
	if err != nil {
		return nil, nil, err
	}
	kind := object.GroupVersionKind()
	mapping, err := on.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return object, on.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return object, on.client.Resource(mapping.Resource), nil
}

// apply brings the object. It takes no field from another manager.
func (m *members) apply(ctx context.Context, profile *v1alpha2.ClusterProfile, text, key string) error {
	object, resource, err := m.object(profile, text, key)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager})
	return err
}

// remove takes the object away, if it was brought for this decision.
func (m *members) remove(ctx context.Context, profile *v1alpha2.ClusterProfile, text, key string) error {
	object, resource, err := m.object(profile, text, key)
	if errors.Is(err, errNoAccess) || meta.IsNoMatchError(err) {
		return nil // Nobody says any more how to reach it, or there can be no such object.
	}
	if err != nil {
		return err
	}
	found, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err == nil && found.GetLabels()[label] == key {
		err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(found.GetUID()))})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
