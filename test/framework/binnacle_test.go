// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var clusterProfiles = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "clusterprofiles"}

// TestBinnacle needs the hub's binaries and bin/binnacle-apiserver.
func TestBinnacle(t *testing.T) {
	samples := requireBinaries(t)
	ctx := t.Context()
	hub, err := StartHub(ctx, HubOptions{Dir: t.TempDir(), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	server, err := hub.StartBinnacle(ctx, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("samples load twice and are read through the hub", func(t *testing.T) {
		for range 2 {
			if _, err := LoadSamples(ctx, hub.AdminConfig(), samples); err != nil {
				t.Fatal(err)
			}
		}
		out, _, err := hub.Kubectl(ctx, "get", "cp,pd", "-A")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"clusterprofile.multicluster.x-k8s.io/", "placementdecision.multicluster.x-k8s.io/"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})

	t.Run("rights on the hub are rights on the server, by either way", func(t *testing.T) {
		if _, _, err := hub.Kubectl(ctx, "create", "clusterrolebinding", "viewers", "--clusterrole=view", "--group=viewers"); err != nil {
			t.Fatal(err)
		}
		for name, configFor := range map[string]func(string, ...string) *rest.Config{"hub": hub.ConfigFor, "server": server.ConfigFor} {
			viewer := dynamic.NewForConfigOrDie(configFor("alice", "viewers")).Resource(clusterProfiles)
			eventually(t, func() error {
				_, err := viewer.List(ctx, metav1.ListOptions{})
				return err
			})
			if err := viewer.Namespace("default").Delete(ctx, "any", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), `"alice" cannot delete`) {
				t.Errorf("%s: delete as viewer: %v", name, err)
			}
		}
	})

	t.Run("the server lacks no right and uses none that it lacks", func(t *testing.T) {
		log, err := os.ReadFile(server.LogPath())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			// Of a new flow schema the server may see before the hub that its status is to be set, which is the hub's to do.
			if strings.Contains(line, ServiceAccount+`" cannot `) && !strings.Contains(line, `"flowschemas/status"`) {
				t.Error(line)
			}
		}
	})

	t.Run("data survives a crash", func(t *testing.T) {
		before := names(ctx, t, hub.AdminConfig())
		if err := errors.Join(server.Kill(), server.Start(ctx), hub.Registered(ctx)); err != nil {
			t.Fatal(err)
		}
		if after := names(ctx, t, hub.AdminConfig()); before != after {
			t.Errorf("before %s, after %s", before, after)
		}
	})

	t.Run("two replicas behind one port", func(t *testing.T) {
		etcd, err := StartEtcd(ctx, EtcdOptions{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = etcd.Stop() })
		var replicas []*Server
		for _, name := range []string{"replica-a", "replica-b"} {
			replica, err := hub.StartReplica(ctx, ServerOptions{Name: name, Etcd: etcd})
			if err != nil {
				t.Fatal(err)
			}
			replicas = append(replicas, replica)
			t.Cleanup(func() { _ = replica.Stop() })
		}
		balancer, err := NewBalancer(replicas[0].Port, replicas[1].Port)
		if err != nil {
			t.Fatal(err)
		}
		defer balancer.Close()
		if err := hub.Register(ctx, balancer.Port); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSamples(ctx, hub.AdminConfig(), samples); err != nil {
			t.Fatal(err)
		}
		want := names(ctx, t, hub.AdminConfig())
		for _, replica := range replicas {
			eventually(t, func() error {
				if got := names(ctx, t, replica.ConfigFor("admin", AdminGroup)); got != want {
					return fmt.Errorf("%s has %s, the hub %s", replica.name, got, want)
				}
				return nil
			})
		}
		if err := hub.Register(ctx, server.Port); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStandalone(t *testing.T) {
	samples := requireBinaries(t)
	ctx := t.Context()
	server, err := StartStandalone(ctx, ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	admin, err := server.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSamples(ctx, admin, samples); err != nil {
		t.Fatal(err)
	}
	before := names(ctx, t, admin)
	if err := errors.Join(server.Stop(), server.Start(ctx)); err != nil {
		t.Fatal(err)
	}
	if after := names(ctx, t, admin); before != after {
		t.Errorf("before %s, after %s", before, after)
	}
}

// requireBinaries skips the test unless everything that it starts exists, and returns the folder of the samples.
func requireBinaries(t *testing.T) string {
	t.Helper()
	if os.Getenv(ToolsDirEnv) == "" {
		t.Skip("set " + ToolsDirEnv + " to the folder that hack/tools/build.sh prints")
	}
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "binnacle-apiserver")); err != nil {
		t.Skip("build bin/binnacle-apiserver from ./cmd/apiserver")
	}
	return filepath.Join(root, "artifacts", "samples")
}

// names returns the names and versions of all ClusterProfiles.
func names(ctx context.Context, t *testing.T, config *rest.Config) string {
	t.Helper()
	list, err := dynamic.NewForConfigOrDie(config).Resource(clusterProfiles).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		t.Fatal("no ClusterProfiles")
	}
	var out []string
	for _, item := range list.Items {
		out = append(out, item.GetNamespace()+"/"+item.GetName()+"@"+item.GetResourceVersion())
	}
	return strings.Join(out, " ")
}
