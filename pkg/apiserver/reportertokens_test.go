package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"
)

const reportPath = "/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/atlas/report"

// tokens knows whom each token stands for, and counts the questions.
type tokens struct {
	users map[string]string
	err   error
	asked int
}

func (k *tokens) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	k.asked++
	if name, ok := k.users[token]; ok && k.err == nil {
		return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{"agents"}}}, true, nil
	}
	return nil, false, k.err
}

// likeTheLibrary is the order of the library: who comes with the certificate of the front proxy is who its headers say, and others are
// who their tokens say.
func (k *tokens) likeTheLibrary(t *testing.T) authenticator.Request {
	t.Helper()
	headers, err := headerrequest.New([]string{"X-Remote-User"}, []string{"X-Remote-Uid"}, []string{"X-Remote-Group"}, []string{"X-Remote-Extra-"})
	if err != nil {
		t.Fatal(err)
	}
	proxy := authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
			return nil, false, nil
		}
		return headers.AuthenticateRequest(req)
	})
	return union.New(proxy, bearertoken.New(k))
}

func post(path, token string, headers ...string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, path, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return req
}

func withCertificate(req *http.Request) *http.Request {
	req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	return req
}

// TestTokensAreRemembered walks requests in their order, each with who it is by and how often tokens were asked about by then.
func TestTokensAreRemembered(t *testing.T) {
	known := &tokens{users: map[string]string{"a": "agent-a", "b": "agent-b"}}
	wall := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	a := RememberReporterTokens(known.likeTheLibrary(t), 5*time.Minute, wall)
	for _, step := range []struct {
		name  string
		after time.Duration
		req   *http.Request
		user  string
		asked int
	}{
		{"first", 0, post(reportPath, "a"), "agent-a", 1},
		{"again", 0, post(reportPath, "a"), "agent-a", 1},
		{"other token", 0, post(reportPath, "b"), "agent-b", 2},
		{"one more cluster", 0, post("/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/borealis/report", "a"), "agent-a", 2},
		{"unknown token", 0, post(reportPath, "c"), "", 3},
		{"unknown token, again", 0, post(reportPath, "c"), "", 4},
		{"prefix of a token", 0, post(reportPath, "a "), "agent-a", 5},
		{"token and more", 0, post(reportPath, "a more"), "agent-a", 6},
		{"token and more, again", 0, post(reportPath, "a more"), "agent-a", 7},
		{"no token", 0, post(reportPath, ""), "", 7},
		{"a read", 0, func() *http.Request { r := post(reportPath, "a"); r.Method = http.MethodGet; return r }(), "agent-a", 8},
		{"other path", 0, post("/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/atlas", "a"), "agent-a", 9},
		{"other group", 0, post("/apis/multicluster.x-k8s.io/v1alpha1/x/report", "a"), "agent-a", 10},
		{"hub's proxy, for somebody", 0, withCertificate(post(reportPath, "a", "X-Remote-User", "jane")), "jane", 10},
		{"hub's proxy, for somebody else", 0, withCertificate(post(reportPath, "a", "X-Remote-User", "john")), "john", 10},
		{"some certificate", 0, withCertificate(post(reportPath, "a")), "agent-a", 11},
		{"headers of a proxy without its certificate", 0, post(reportPath, "a", "X-Remote-User", "jane", "X-Remote-Group", "system:masters"), "agent-a", 11},
		{"still within the time", 4*time.Minute - time.Second, post(reportPath, "a"), "agent-a", 11},
		{"after the time", time.Minute + time.Second, post(reportPath, "a"), "agent-a", 12},
	} {
		wall.SetTime(wall.Now().Add(step.after))
		response, ok, _ := a.AuthenticateRequest(step.req)
		name := ""
		if ok {
			name = response.User.GetName()
			if step.req.Header.Get("Authorization") != "" && step.req.TLS == nil {
				t.Errorf("%s: the token goes on into the server", step.name)
			}
		}
		if name != step.user || known.asked != step.asked {
			t.Errorf("%s: %q after %d questions, want %q after %d", step.name, name, known.asked, step.user, step.asked)
			known.asked = step.asked
		}
	}
}

// TestTokensThatCannotBeReviewedAreNotRemembered keeps an error from being anybody's answer.
func TestTokensThatCannotBeReviewedAreNotRemembered(t *testing.T) {
	known := &tokens{users: map[string]string{"a": "agent-a"}, err: errors.New("the hub is away")}
	a := RememberReporterTokens(known.likeTheLibrary(t), time.Minute, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	if _, ok, err := a.AuthenticateRequest(post(reportPath, "a")); ok || err == nil {
		t.Fatalf("%v, %v", ok, err)
	}
	known.err = nil
	if _, ok, err := a.AuthenticateRequest(post(reportPath, "a")); !ok || err != nil {
		t.Fatalf("%v, %v once the hub is back", ok, err)
	}
}

func TestNoTokenIsRememberedForNoTime(t *testing.T) {
	known := &tokens{users: map[string]string{"a": "agent-a"}}
	a := RememberReporterTokens(known.likeTheLibrary(t), 0, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	for range 2 {
		_, _, _ = a.AuthenticateRequest(post(reportPath, "a"))
	}
	if known.asked != 2 {
		t.Errorf("asked %d times", known.asked)
	}
}

// TestImpersonationIsJudgedEachTime is why a token alone may be the key: whom a request acts for is decided behind the authentication,
// anew for each request and never from what is remembered of a reporter, and leaves what is remembered as it was.
func TestImpersonationIsJudgedEachTime(t *testing.T) {
	wall := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	known := &tokens{users: map[string]string{"a": "agent-a"}}
	authenticate := RememberReporterTokens(known.likeTheLibrary(t), time.Minute, wall)
	mayImpersonate, asked := true, []string{}
	authorize := RememberReporters(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked = append(asked, a.GetUser().GetName()+" "+a.GetVerb()+" "+a.GetName())
		if a.GetVerb() == "impersonate" && !mayImpersonate {
			return authorizer.DecisionNoOpinion, "", nil
		}
		return authorizer.DecisionAllow, "", nil
	}), nil, time.Minute, wall)
	served := ""
	handler := impersonation.WithImpersonation(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		who, _ := request.UserFrom(req.Context())
		if _, _, err := authorize.Authorize(req.Context(), reportOf(func(a *authorizer.AttributesRecord, _ *user.DefaultInfo) { a.User = who })); err != nil {
			t.Error(err)
		}
		served = who.GetName()
	}), authorize, Codecs)
	send := func(headers ...string) string {
		t.Helper()
		served = ""
		req := post(reportPath, "a", headers...)
		response, ok, err := authenticate.AuthenticateRequest(req)
		if !ok || err != nil {
			t.Fatal(err)
		}
		ctx := request.WithRequestInfo(request.WithUser(req.Context(), response.User), &request.RequestInfo{IsResourceRequest: true, Verb: "create"})
		handler.ServeHTTP(httptest.NewRecorder(), req.WithContext(ctx))
		return served
	}
	got := []string{send(), send("Impersonate-User", "jane"), send(), send("Impersonate-User", "john"), send("Impersonate-User", "jane")}
	mayImpersonate = false
	got = append(got, send("Impersonate-User", "jane"), send())
	if diff := cmp.Diff([]string{"agent-a", "jane", "agent-a", "john", "jane", "", "agent-a"}, got); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	want := []string{
		"agent-a create atlas", "agent-a impersonate jane", "jane create atlas", "agent-a impersonate john", "john create atlas",
		"agent-a impersonate jane", "agent-a impersonate jane",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the hub was asked (-want +got):\n%s", diff)
	}
	if known.asked != 1 {
		t.Errorf("the token was asked about %d times", known.asked)
	}
}
