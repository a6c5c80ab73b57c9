package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// profile begins to record where the servers spend their processor time, for as long as a load lasts. The returned function waits for
// the records and writes them.
func (b *bench) profile(ctx context.Context, way *rest.Config, what string) (func() error, error) {
	if b.profiles == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return nil, err
	}
	direct := ""
	servers := map[string]*rest.Config{"kube-apiserver": b.hub.AdminConfig()}
	if b.server != nil {
		servers["binnacle-apiserver"] = b.server.ConfigFor("admin", framework.AdminGroup)
		if way.Host == servers["binnacle-apiserver"].Host {
			direct = "-direct"
		}
	}
	var group errgroup.Group
	for name, config := range servers {
		group.Go(func() error {
			data, err := kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/debug/pprof/profile").
				Param("seconds", fmt.Sprint(int(b.duration.Seconds()))).DoRaw(ctx)
			if err != nil {
				return fmt.Errorf("profile of %s: %w", name, err)
			}
			file := strings.Join([]string{b.name + direct, strings.ReplaceAll(what, " ", "-"), name}, "_") + ".pprof"
			return os.WriteFile(filepath.Join(b.profiles, file), data, 0o644)
		})
	}
	return group.Wait, nil
}
