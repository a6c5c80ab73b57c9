// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func TestRolesInArtifacts(t *testing.T) {
	writers := map[string][]string{ // who may write what
		"clusterprofiles":        {"binnacle-admin", "binnacle-edit", "binnacle-inventory-manager"},
		"clusterprofiles/status": {"binnacle-inventory-manager"},
		"placementdecisions":     {"binnacle-admin", "binnacle-edit", "binnacle-scheduler"},
		"rollouts":               {"binnacle-admin", "binnacle-edit"},
		"rollouts/approve":       {"binnacle-rollout-approver"},
		"rollouts/feedback":      {"binnacle-rollout-consumer"},
		// What the server itself writes on the hub.
		"events":                {"binnacle-apiserver"},
		"resourcequotas/status": {"binnacle-apiserver"},
	}
	for _, verb := range []string{"abort", "advance", "pause", "promote", "resume", "retry", "rollback"} {
		writers["rollouts/"+verb] = []string{"binnacle-rollout-operator"}
	}
	got := map[string][]string{}
	for _, role := range manifests[rbacv1.ClusterRole](t, "base", "ClusterRole") {
		for _, rule := range role.Rules {
			if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs), "*") {
				t.Errorf("%s has a rule with *: %v", role.Name, rule)
			}
			if !slices.ContainsFunc(rule.Verbs, isWrite) {
				continue
			}
			for _, resource := range rule.Resources {
				got[resource] = append(got[resource], role.Name)
			}
		}
	}
	for resource, roles := range got {
		slices.Sort(roles)
		if !slices.Equal(roles, writers[resource]) {
			t.Errorf("%s is written by %v, want %v", resource, roles, writers[resource])
		}
	}
}

func isWrite(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }

func TestAPIServicesInArtifacts(t *testing.T) {
	services := manifests[apiregistrationv1.APIService](t, "registration", "APIService")
	if len(services) == 0 {
		t.Fatal("none")
	}
	for _, s := range services {
		if s.Name != s.Spec.Version+"."+s.Spec.Group {
			t.Errorf("%s is for %s/%s", s.Name, s.Spec.Group, s.Spec.Version)
		}
		if s.Spec.InsecureSkipTLSVerify {
			t.Errorf("%s does not verify the server", s.Name)
		}
		if s.Labels["kube-aggregator.kubernetes.io/automanaged"] != "false" {
			t.Errorf("%s does not say that it is not the hub's own, so a hub with CRDs of the group would undo it", s.Name)
		}
		if s.Labels["app.kubernetes.io/part-of"] != "binnacle" {
			t.Errorf("%s lacks the label by which it is found", s.Name)
		}
	}
}

// manifests returns the objects of a kind in a folder of artifacts. A field that the kind does not have is an error.
func manifests[T any](t *testing.T, dir, kind string) []T {
	t.Helper()
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := readManifests(filepath.Join(root, "artifacts", dir))
	if err != nil {
		t.Fatal(err)
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
	out := make([]T, len(objects))
	for i, object := range objects {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &out[i], true); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
