// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// served fails unless the hub serves a group-version completely: its aggregated discovery has the resources that the server behind it
// has, each of them can be listed, and their schema is published. Each of these comes at its own time after an APIService is available.
func served(ctx context.Context, hub *rest.Config, gv schema.GroupVersion) error {
	client, err := discovery.NewDiscoveryClientForConfig(hub)
	if err != nil {
		return err
	}
	direct, err := client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil {
		return err
	}
	if len(direct.APIResources) == 0 {
		return errors.New("the server has no resources in it")
	}
	_, aggregated, failed, err := client.GroupsAndMaybeResourcesWithContext(ctx)
	if err := errors.Join(err, failed[gv]); err != nil {
		return err
	}
	if want, got := resourceNames(direct), resourceNames(aggregated[gv]); !slices.Equal(want, got) {
		return fmt.Errorf("the hub's discovery has %v, the server %v", got, want)
	}
	paths, err := client.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return err
	}
	if _, found := paths["apis/"+gv.String()]; !found {
		return errors.New("the hub does not publish its schema")
	}
	return listable(ctx, hub, gv, direct.APIResources)
}

func listable(ctx context.Context, hub *rest.Config, gv schema.GroupVersion, resources []metav1.APIResource) error {
	client, err := dynamic.NewForConfig(hub)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
			continue
		}
		if _, err := client.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("list %s: %w", r.Name, err)
		}
	}
	return nil
}

func resourceNames(list *metav1.APIResourceList) []string {
	if list == nil {
		return nil
	}
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}
