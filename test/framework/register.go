// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const partOfBinnacle = "app.kubernetes.io/part-of=binnacle"

// Install applies artifacts/base: the server's namespace, identity and rights, and the roles for people.
func (h *Hub) Install(ctx context.Context) error {
	return h.step("artifacts/base applied", func() error { return h.applyBase(ctx) })
}

// Register applies artifacts/overlays/local-hub, which makes the hub send our API groups to a port of this machine, and returns when
// the hub answers for all of them. It may be called again with another port.
func (h *Hub) Register(ctx context.Context, port int) error {
	if err := h.step("artifacts/overlays/local-hub applied", func() error { return h.applyRegistration(ctx, port) }); err != nil {
		return err
	}
	return h.step("APIServices available and complete", func() error { return h.Registered(ctx) })
}

// Registered waits until each of our APIServices is Available and the hub serves for it what a client needs: the same resources in its
// aggregated discovery as from the server itself, a list of each of them, and their schema.
func (h *Hub) Registered(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, "registration")
	defer cancel()
	client, err := aggregator.NewForConfig(h.AdminConfig())
	if err != nil {
		return err
	}
	var groupVersions []schema.GroupVersion
	if err := until(ctx, h.APIServer, "APIServices to be available", func(ctx context.Context) error {
		list, err := client.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{LabelSelector: partOfBinnacle})
		if err != nil {
			return err
		}
		groupVersions, err = available(list.Items)
		return err
	}); err != nil {
		return err
	}
	for _, gv := range groupVersions {
		if err := until(ctx, h.APIServer, gv.String()+" to be complete", func(ctx context.Context) error {
			return served(ctx, h.AdminConfig(), gv)
		}); err != nil {
			return err
		}
	}
	return nil
}

func available(services []apiregistrationv1.APIService) (groupVersions []schema.GroupVersion, err error) {
	for _, s := range services {
		var found *apiregistrationv1.APIServiceCondition
		for i, c := range s.Status.Conditions {
			if c.Type == apiregistrationv1.Available {
				found = &s.Status.Conditions[i]
			}
		}
		switch {
		case found == nil:
			return nil, fmt.Errorf("%s has not been looked at", s.Name)
		case found.Status != apiregistrationv1.ConditionTrue:
			return nil, fmt.Errorf("%s: %s: %s", s.Name, found.Reason, found.Message)
		}
		groupVersions = append(groupVersions, schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
	}
	if len(groupVersions) == 0 {
		return nil, fmt.Errorf("no APIService with label %s", partOfBinnacle)
	}
	return groupVersions, nil
}
