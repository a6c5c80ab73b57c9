package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestAuditOfRollouts wants the audit log of the server to say from where to where a verb moved a rollout.
func TestAuditOfRollouts(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	policy := file(t, "policy.yaml", `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`)
	s := startStandalone(t, framework.ServerOptions{Flags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}})
	d := newDecider(t, adminOf(t, s), "any")
	d.clusters(2)
	d.create(d.plan("app", 50, 100))
	d.must("app", binnacleapi.VerbAdvance)
	eventually(t, "the advance in the audit log", func() bool {
		lines, _ := os.ReadFile(log)
		for line := range bytes.Lines(lines) {
			var e auditv1.Event
			if json.Unmarshal(line, &e) == nil && e.ObjectRef != nil && e.ObjectRef.Subresource == "advance" {
				return e.ObjectRef.Name == "app" && e.Verb == "create" && e.Annotations["rollout.binnacle.dev/from"] == "Pending//0" && e.Annotations["rollout.binnacle.dev/to"] == "Progressing/p50/1"
			}
		}
		return false
	})
}
