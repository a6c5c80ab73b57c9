package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// requestTimeout bounds one call.
const requestTimeout = 30 * time.Second

// row is a request whose answer is known, and the same from the custom resource of the same schema.
type row struct {
	name string
	request
	code   int
	reason string
	// causes are "reason field", one for each thing that is wrong.
	causes []string
}

const profile = `"apiVersion":"GROUP/VERSION","kind":"ClusterProfile"`

func profileNamed(name, rest string) string {
	return fmt.Sprintf(`{%s,"metadata":{"name":%q}%s}`, profile, name, rest)
}

func decisionNamed(name, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":%q}%s}`, name, rest)
}

const managed = `,"spec":{"clusterManager":{"name":"m"}}`

func post(resource, body string) request {
	return request{method: "POST", path: resource, contentType: jsonType, body: body}
}

func patchStatus(name, status string) request {
	return request{method: "PATCH", path: "clusterprofiles/" + name + "/status", contentType: mergePatch, body: `{"status":` + status + `}`}
}

func decisionList(n int) string {
	refs := make([]string, n)
	for i := range refs {
		refs[i] = fmt.Sprintf(`{"clusterProfileRef":{"name":"c%d"}}`, i)
	}
	return "[" + strings.Join(refs, ",") + "]"
}

// TestBaseline asks what was measured for the upstream custom resources, row by row, of ours and of them.
func TestBaseline(t *testing.T) {
	const invalid = "Invalid"
	rows := []row{
		{name: "create drops status", request: post("clusterprofiles", profileNamed("dropped", managed+`,"status":{"version":{"kubernetes":"v1.37.2"}}`)), code: 201},
		{name: "create with null conditions", request: post("clusterprofiles", profileNamed("nulls", managed+`,"status":{"conditions":null,"version":{}}`)), code: 201},
		{name: "create again", request: post("clusterprofiles", profileNamed("a", managed)), code: 409, reason: "AlreadyExists"},
		{name: "PUT without a resourceVersion", request: request{method: "PUT", path: "clusterprofiles/a", contentType: jsonType, body: profileNamed("a", managed)},
			code: 422, reason: invalid, causes: []string{"FieldValueInvalid metadata.resourceVersion"}},
		{name: "PUT of nothing", request: request{method: "PUT", path: "clusterprofiles/none", contentType: jsonType, body: profileNamed("none", managed)}, code: 404, reason: "NotFound"},
		{name: "strategic merge patch", request: request{method: "PATCH", path: "clusterprofiles/a", contentType: strategic, body: `{}`}, code: 415, reason: "UnsupportedMediaType"},
		{name: "strategic merge patch of status", request: request{method: "PATCH", path: "clusterprofiles/a/status", contentType: strategic, body: `{}`}, code: 415, reason: "UnsupportedMediaType"},
		{name: "JSON patch", request: request{method: "PATCH", path: "clusterprofiles/a", contentType: jsonPatch, body: `[{"op":"add","path":"/spec/displayName","value":"A"}]`}, code: 200},
		{name: "merge patch", request: request{method: "PATCH", path: "clusterprofiles/a", contentType: mergePatch, body: `{"spec":{"displayName":null}}`}, code: 200},
		{name: "apply", request: request{method: "PATCH", path: "clusterprofiles/applied?fieldManager=f", contentType: applyPatch, body: profileNamed("applied", managed)}, code: 201},
		{name: "unknown field", request: post("clusterprofiles", profileNamed("unknown", `,"spec":{"clusterManager":{"name":"m"},"colour":"red"}`)), code: 201},
		{name: "unknown field, ignored", request: post("clusterprofiles?fieldValidation=Ignore", profileNamed("unknown-ignore", `,"spec":{"clusterManager":{"name":"m"},"colour":"red"}`)), code: 201},
		{name: "unknown field, strict", request: post("clusterprofiles?fieldValidation=Strict", profileNamed("unknown-strict", `,"spec":{"clusterManager":{"name":"m"},"colour":"red"}`)), code: 400, reason: "BadRequest"},
		{name: "another cluster manager", request: request{method: "PATCH", path: "clusterprofiles/a", contentType: mergePatch, body: `{"spec":{"clusterManager":{"name":"n"}}}`},
			code: 422, reason: invalid, causes: []string{"FieldValueInvalid spec.clusterManager"}},
		{name: "no cluster manager any more", request: request{method: "PATCH", path: "clusterprofiles/a", contentType: mergePatch, body: `{"spec":{"clusterManager":null}}`},
			code: 422, reason: invalid, causes: []string{"FieldValueRequired spec.clusterManager"}},
		{name: "empty cluster manager name", request: post("clusterprofiles", profileNamed("empty-manager", `,"spec":{"clusterManager":{"name":""}}`)), code: 201},
		{name: "duplicate property", request: patchStatus("a", `{"properties":[{"name":"p","value":"1"},{"name":"p","value":"2"}]}`), code: 422, reason: invalid, causes: []string{"FieldValueDuplicate status.properties[1]"}},
		{name: "duplicate provider", request: patchStatus("a", `{"accessProviders":[{"name":"p"},{"name":"p"}]}`), code: 422, reason: invalid, causes: []string{"FieldValueDuplicate status.accessProviders[1]"}},
		{name: "1024 two-byte characters", request: patchStatus("a", `{"properties":[{"name":"p","value":"`+strings.Repeat("é", 1024)+`"}]}`), code: 200},
		{name: "1025 characters", request: patchStatus("a", `{"properties":[{"name":"p","value":"`+strings.Repeat("é", 1025)+`"}]}`), code: 422, reason: invalid, causes: []string{"FieldValueTooLong status.properties[0].value"}},
		{name: "null time", request: patchStatus("a", `{"properties":[{"name":"p","value":"1","lastObservedTime":null}]}`), code: 200},
		{name: "fractions of a second", request: patchStatus("a", `{"properties":[{"name":"p","value":"1","lastObservedTime":"2026-01-02T03:04:05.678+02:00"}]}`), code: 200},
		{name: "bad time", request: patchStatus("a", `{"properties":[{"name":"p","value":"1","lastObservedTime":"yesterday"}]}`), code: 422, reason: invalid, causes: []string{"FieldValueTypeInvalid status.properties[0].lastObservedTime"}},
		{name: "bad base64", request: patchStatus("a", `{"accessProviders":[{"name":"p","cluster":{"server":"s","certificate-authority-data":"%"}}]}`), code: 422, reason: invalid,
			causes: []string{"FieldValueTypeInvalid status.accessProviders[0].cluster.certificate-authority-data"}},
		{name: "provider without cluster", request: patchStatus("a", `{"accessProviders":[{"name":"p"}]}`), code: 200},
		{name: "empty cluster", request: patchStatus("a", `{"accessProviders":[{"name":"p","cluster":{}}]}`), code: 422, reason: invalid, causes: []string{"FieldValueRequired status.accessProviders[0].cluster.server"}},
		{name: "empty server", request: patchStatus("a", `{"accessProviders":[{"name":"p","cluster":{"server":""}}]}`), code: 200},
		{name: "array extension", request: patchStatus("a", `{"accessProviders":[{"name":"p","cluster":{"server":"s","extensions":[{"name":"e","extension":["x"]}]}}]}`), code: 422, reason: invalid,
			causes: []string{"FieldValueTypeInvalid status.accessProviders[0].cluster.extensions[0].extension"}},
		{name: "object extension", request: patchStatus("a", `{"accessProviders":[{"name":"p","cluster":{"server":"s","extensions":[{"name":"e","extension":{"k":{"n":1}}}]}}]}`), code: 200},
		{name: "null extension", request: patchStatus("b", `{"accessProviders":[{"name":"p","cluster":{"server":"s","extensions":[{"name":"e","extension":null}]}}]}`), code: 422, reason: invalid,
			causes: []string{"FieldValueRequired status.accessProviders[0].cluster.extensions[0].extension"}},
		{name: "no decisions", request: post("placementdecisions", decisionNamed("none", "")), code: 422, reason: invalid, causes: []string{"FieldValueRequired decisions"}},
		{name: "null decisions", request: post("placementdecisions", decisionNamed("null", `,"decisions":null`)), code: 422, reason: invalid, causes: []string{"FieldValueRequired decisions"}},
		{name: "empty decisions", request: post("placementdecisions", decisionNamed("empty", `,"decisions":[]`)), code: 201},
		{name: "100 decisions", request: post("placementdecisions", decisionNamed("hundred", `,"decisions":`+decisionList(100))), code: 201},
		{name: "101 decisions", request: post("placementdecisions", decisionNamed("more", `,"decisions":`+decisionList(101))), code: 422, reason: invalid, causes: []string{"FieldValueTooMany decisions"}},
		{name: "the same cluster twice", request: post("placementdecisions", decisionNamed("twice", `,"decisions":[{"clusterProfileRef":{"name":"x"}},{"clusterProfileRef":{"name":"x"}}]`)), code: 201},
		{name: "a cluster with an empty name", request: post("placementdecisions", decisionNamed("nameless", `,"decisions":[{"clusterProfileRef":{"name":""}}]`)), code: 201},
		{name: "reference with a kind", request: post("placementdecisions", decisionNamed("kinded", `,"decisions":[{"clusterProfileRef":{"apiVersion":"v1","kind":"ClusterProfile","name":"x"}}]`)), code: 201},
		{name: "reference with a kind, strict", request: post("placementdecisions?fieldValidation=Strict", decisionNamed("strict", `,"decisions":[{"clusterProfileRef":{"kind":"ClusterProfile","name":"x"}}]`)), code: 400, reason: "BadRequest"},
		{name: "no status of a decision", request: request{method: "GET", path: "placementdecisions/empty/status"}, code: 404, reason: "NotFound"},
		{name: "DELETE of a status", request: request{method: "DELETE", path: "clusterprofiles/a/status"}, code: 405, reason: "MethodNotAllowed"},
		{name: "GET of a status", request: request{method: "GET", path: "clusterprofiles/b/status"}, code: 200},
		{name: "illegal name", request: post("clusterprofiles", profileNamed("A_b", managed)), code: 422, reason: invalid, causes: []string{"FieldValueInvalid metadata.name"}},
		{name: "no name", request: post("clusterprofiles", profileNamed("", managed)), code: 422, reason: invalid, causes: []string{"FieldValueRequired metadata.name"}},
		{name: "unsupported field selector", request: request{method: "GET", path: "clusterprofiles?fieldSelector=spec.displayName%3Dx"}, code: 400, reason: "BadRequest"},
		{name: "CBOR", request: request{method: "GET", path: "clusterprofiles", accept: "application/cbor"}, code: 406, reason: "NotAcceptable"},
		{name: "protobuf or JSON, of metadata", request: request{method: "GET", path: "clusterprofiles/b", accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, code: 200},
		{name: "wrong kind", request: post("clusterprofiles", decisionNamed("kind", `,"decisions":[]`)), code: 422, reason: invalid, causes: []string{"FieldValueInvalid kind"}},
		{name: "wrong namespace", request: post("clusterprofiles", `{`+profile+`,"metadata":{"name":"ns","namespace":"elsewhere"}`+managed+`}`), code: 400, reason: "BadRequest"},
		{name: "no JSON", request: post("clusterprofiles", `{`), code: 400, reason: "BadRequest"},
	}
	both := newPair(t, newNamespace(t), "v1alpha1")
	both.must(post("clusterprofiles", profileNamed("a", managed)))
	both.must(post("clusterprofiles", profileNamed("b", managed)))
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := both.compare(t, r.request)
			if want := fmt.Sprintf("%d %s %v", r.code, r.reason, r.causes); got.summary() != want {
				t.Errorf("got %s\nwant %s\n%s", got.summary(), want, shorten(got.status.Message))
			}
		})
	}
}
