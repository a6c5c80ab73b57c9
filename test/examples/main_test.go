// Package examples tests the programs of examples/ as people run them: on a hub with Binnacle, as users with the rights that they need and no
// others, and with two real kube-apiservers as the clusters of the fleet.
package examples

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// The hub and the members, which the tests share, and the folder of the programs.
var (
	hub     *framework.Hub
	members []*framework.Hub
	bin     string
	// admin is kubectl as the hub's administrator. Hub.Kubectl would write its kubeconfig anew under the feet of tests that run in parallel.
	admin framework.Kubectl
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runWithFleet(m))
}

func runWithFleet(m *testing.M) int {
	dir, err := os.MkdirTemp("", "binnacle-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	defer func() {
		for _, started := range append(members, hub) {
			if started != nil {
				_ = started.Stop()
			}
		}
	}()
	if err := setUp(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set the hub and its members up:", err)
		return 1
	}
	return m.Run()
}

func setUp(ctx context.Context, dir string) (err error) {
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	bin = filepath.Join(dir, "bin")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), "./examples/...")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if hub, err = framework.StartHub(ctx, framework.HubOptions{Dir: filepath.Join(dir, "hub")}); err != nil {
		return err
	}
	if admin, err = hub.KubectlFor("admin", framework.AdminGroup); err != nil {
		return err
	}
	if _, err = hub.StartBinnacle(ctx, framework.ServerOptions{Flags: []string{"--cluster-report-publish-interval=200ms"}}); err != nil {
		return err
	}
	for i := range 2 {
		member, err := framework.StartHub(ctx, framework.HubOptions{Dir: filepath.Join(dir, fmt.Sprint("member-", i))})
		if err != nil {
			return err
		}
		members = append(members, member)
		// What the syncer's account may do on a member: what its manifest needs.
		if _, _, err := member.Kubectl(ctx, "apply", "-f", filepath.Join(root, "test", "examples", "testdata", "member.yaml")); err != nil {
			return err
		}
	}
	return writeAccess(ctx, dir)
}
