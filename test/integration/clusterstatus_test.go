package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// ownGroup is the group of the kinds that are ours alone.
const ownGroup = "binnacle.dev"

// fleet is a namespace of clusters: one caller registers them, the other reads what is known of them and reports for them.
type fleet struct {
	t *testing.T
	// config is the administrator's.
	config             *rest.Config
	namespace          string
	profiles, statuses caller
}

func newFleet(t *testing.T, config *rest.Config, namespace string) fleet {
	t.Helper()
	return fleet{t, config, namespace, newCaller(t, config, ours, namespace, "v1alpha2"), newCaller(t, config, ownGroup, namespace, "v1alpha1")}
}

// hubFleet is a fleet in a namespace of its own on the shared hub.
func hubFleet(t *testing.T) fleet {
	t.Helper()
	return newFleet(t, hub.AdminConfig(), newNamespace(t))
}

// standaloneFleet is a fleet on a server of its own that publishes often.
func standaloneFleet(t *testing.T, flags ...string) (fleet, *framework.Server) {
	t.Helper()
	s := startStandalone(t, framework.ServerOptions{Flags: append([]string{"--cluster-report-publish-interval=200ms"}, flags...)})
	return newFleet(t, adminOf(t, s), "fleet"), s
}

// add registers clusters of the manager m.
func (f fleet) add(names ...string) {
	f.t.Helper()
	for _, name := range names {
		f.profiles.must(post("clusterprofiles", profileNamed(name, managed)))
	}
}

// addMany registers n clusters, several at a time.
func (f fleet) addMany(n int, body func(i int) string) {
	f.t.Helper()
	each(n, 16, func(i int) {
		if a := f.profiles.do(post("clusterprofiles", body(i))); a.code != 201 {
			f.t.Errorf("%d %s", a.code, shorten(string(a.raw)))
		}
	})
}

// each calls f for the numbers below n, several at a time.
func each(n, at int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, at)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// reportOf is a report for a cluster. Spec is what stands inside the braces of the spec.
func reportOf(name, spec string) request {
	return post("clusterstatuses/"+name+"/report", `{"apiVersion":"GROUP/VERSION","kind":"ClusterReport","spec":{`+spec+`}}`)
}

// rarely is part of a report whose cluster is not missed during a test.
const rarely = `"intervalSeconds":3600`

// report sends a report that has to be taken, again where it is too early for one.
func (f fleet) report(name, spec string) answer {
	f.t.Helper()
	var a answer
	within(f.t, requestTimeout, "a report of "+name+" to be taken", func() bool {
		a = f.statuses.do(reportOf(name, spec))
		if a.code != 201 && a.code != 429 {
			f.t.Fatalf("report of %s: %d %s", name, a.code, shorten(string(a.raw)))
		}
		return a.code == 201
	})
	return a
}

// status reads a ClusterStatus.
func (f fleet) status(name string) answer {
	f.t.Helper()
	return f.statuses.must(get("clusterstatuses/" + name))
}

// until waits for what a ClusterStatus shows, and returns it.
func (f fleet) until(name, what string, met func(a answer) bool) (a answer) {
	f.t.Helper()
	within(f.t, requestTimeout, name+" to have "+what, func() bool {
		a = f.statuses.do(get("clusterstatuses/" + name))
		return a.code == 200 && met(a)
	})
	return a
}

// untilPhase waits for a phase.
func (f fleet) untilPhase(name, phase string) answer {
	f.t.Helper()
	return f.until(name, "the phase "+phase, func(a answer) bool { return a.field("status", "phase") == phase })
}

// names lists the clusters that a query selects.
func (f fleet) names(query string) (names []string) {
	f.t.Helper()
	return namesOf(f.statuses.must(get("clusterstatuses?" + query)))
}

func namesOf(list answer) (names []string) {
	items, _ := list.field("items").([]any)
	for _, item := range items {
		names = append(names, fmt.Sprint(item.(map[string]any)["metadata"].(map[string]any)["name"]))
	}
	return names
}

// condition returns a condition of a ClusterStatus, nil where it has none of the type.
func condition(a answer, kind string) map[string]any {
	conditions, _ := a.field("status", "conditions").([]any)
	for _, entry := range conditions {
		if c := entry.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}

// timeOf reads a time of an answer.
func timeOf(t *testing.T, value any) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, fmt.Sprint(value))
	if err != nil {
		t.Errorf("no time: %v", value)
	}
	return parsed
}

// everywhere are tests that hold through a hub and without one.
var everywhere = map[string]func(t *testing.T, f fleet){
	"selectors":          testStatusSelectors,
	"selectors on watch": testStatusSelectorsOnWatch,
	"paging":             testStatusPaging,
	"bookmarks":          testStatusBookmarks,
	"initial events":     testStatusInitialEvents,
	"versions":           testStatusVersions,
	"resume":             testStatusResume,
	"read only":          testStatusReadOnly,
	"encodings":          testStatusEncodings,
	"typed client":       testStatusTypedClient,
	"informers":          testStatusInformers,
	"explained":          testStatusExplained,
	"bad reports":        testBadReports,
	"limits of reports":  testReportLimits,
	"large reports":      testLargeReports,
	"encoded reports":    testReportEncodings,
	"ordinary reports":   testOrdinaryReports,
	"whose report":       testWhoseReport,
	"one a second":       testReportsTooOften,
	"dry run":            testReportDryRun,
	"clocks":             testReportClocks,
	"newest report":      testNewestReport,
	"next report":        testNextReport,
	"registered again":   testRegisteredAgain,
}

// TestClusterStatus reads the kind and reports to it through a hub, and past none.
func TestClusterStatus(t *testing.T) {
	t.Parallel()
	standalone := adminOf(t, startStandalone(t, framework.ServerOptions{Flags: []string{"--cluster-report-publish-interval=200ms"}}))
	for where, make := range map[string]func(t *testing.T) fleet{
		"hub":        hubFleet,
		"standalone": func(t *testing.T) fleet { return newFleet(t, standalone, namespaceOf(t)) },
	} {
		t.Run(where, func(t *testing.T) {
			for name, test := range everywhere {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, make(t))
				})
			}
		})
	}
}
