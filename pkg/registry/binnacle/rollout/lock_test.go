package rollout

import (
	"strings"
	"testing"
)

// TestLocksStayWhereTheyAre gives decision keys that nobody has looked at, which must not lead to keys of others.
func TestLocksStayWhereTheyAre(t *testing.T) {
	l := locks{prefix: "/registry/locks"}
	seen := map[string]string{}
	for _, key := range []string{"app", "../../multicluster.x-k8s.io/clusterprofiles/x", "..", "", "a/b", "/", "app/../app", "\x00", "b"} {
		for _, namespace := range []string{"fleet", "fleet/a", ".."} {
			path := l.keyOf(namespace, key)
			name, below := strings.CutPrefix(path, "/registry/locks/")
			if !below || strings.ContainsAny(name, "/.") || name == "" {
				t.Errorf("%q in %q lies at %q", key, namespace, path)
			}
			if other, taken := seen[path]; taken {
				t.Errorf("%q in %q has the lock of %s", key, namespace, other)
			}
			seen[path] = key + " in " + namespace
		}
	}
}
