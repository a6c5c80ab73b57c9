// Package agent tests the agent as people run it: the shipped binary, on a real kube-apiserver as the member, with the rights that
// artifacts/agent grants it there, and with a stand-in for the hub, which answers whatever a test wants.
package agent

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// The member that the tests share, and the kubeconfig of the agent's account on it.
var (
	member           *framework.Hub
	memberKubeconfig string
)

// namespace and account are those of artifacts/agent.
const namespace, account = "binnacle-agent", "binnacle-agent"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runWithMember(m))
}

func runWithMember(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "binnacle-agent-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if member, err = framework.StartHub(ctx, framework.HubOptions{Dir: dir}); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set the member up:", err)
		return 1
	}
	defer func() { _ = member.Stop() }()
	if err := setUp(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set the member up:", err)
		return 1
	}
	return m.Run()
}

func setUp(ctx context.Context, dir string) error {
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	if _, _, err := member.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join(root, "artifacts", "agent")); err != nil {
		return err
	}
	config, err := member.ServiceAccountConfig(ctx, namespace, account)
	if err != nil {
		return err
	}
	memberKubeconfig = filepath.Join(dir, "member")
	return framework.WriteKubeconfig(memberKubeconfig, config)
}

// admin is the member's administrator.
func admin() kubernetes.Interface { return kubernetes.NewForConfigOrDie(member.AdminConfig()) }

// kubectl runs kubectl as the member's administrator and returns what it prints.
func kubectl(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := member.Kubectl(context.WithoutCancel(t.Context()), args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}
