package integration

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	ourscheme "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
)

// statusSubject is ClusterStatus, which is read and never written, but for reports.
var statusSubject = subject{kind: v1alpha1.SchemeGroupVersion.WithKind("ClusterStatus"), plural: "clusterstatuses", codecs: ourscheme.Codecs}

// reportSubject is what is posted to its subresource.
var reportSubject = subject{kind: v1alpha1.SchemeGroupVersion.WithKind("ClusterReport"), codecs: ourscheme.Codecs, object: func(string) runtime.Object {
	return &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{KubernetesVersion: "v1.37.2"}}
}}

// fillStatus asks everything of ClusterStatus and of reports.
func (f fleet) fillStatus(t *testing.T) table {
	t.Helper()
	const reports = "clusterstatuses/a/report"
	found := table{}
	record := func(verb, column string, r request) {
		if found[verb] == nil {
			found[verb] = map[string]string{}
		}
		found[verb][column] = cell(f.statuses.do(r), r.accept)
	}
	f.add("a")
	for _, e := range bodies {
		record("create/report", "body in "+e.name, request{method: http.MethodPost, path: reports + "?dryRun=All", contentType: e.mediaType, body: reportSubject.encode(t, reportSubject.object(""), e.mediaType)})
	}
	for _, e := range answers {
		record("create/report", "answer in "+e.name, request{method: http.MethodPost, path: reports + "?dryRun=All", contentType: jsonType, body: reportSubject.encode(t, reportSubject.object(""), jsonType), accept: e.mediaType})
	}
	f.report("a", rarely)
	for _, e := range answers {
		of := "answer in " + e.name
		record("get", of, request{method: http.MethodGet, path: "clusterstatuses/a", accept: e.mediaType})
		record("list", of, request{method: http.MethodGet, path: "clusterstatuses", accept: e.mediaType})
		record("watch", of, request{method: http.MethodGet, path: "clusterstatuses?watch=true&timeoutSeconds=1", accept: e.mediaType})
		record("get/report", of, request{method: http.MethodGet, path: reports, accept: e.mediaType})
	}
	return found
}

// checkStatus holds what is read of ClusterStatus against a built-in kind, and the bodies of reports against those that create one. The
// answer to a report has neither metadata of an object nor columns.
func checkStatus(t *testing.T, found, builtIn table) {
	t.Helper()
	for verb, columns := range found {
		for column, got := range columns {
			row := verb
			if verb == "create/report" {
				row = "create"
			}
			if strings.HasSuffix(verb, "/report") && strings.HasPrefix(column, "answer in ") {
				continue
			}
			if want := builtIn[row][column]; got != want {
				t.Errorf("%s: %s, %s: %s; the built-in kind: %s", statusSubject, verb, column, got, want)
			}
		}
	}
}
