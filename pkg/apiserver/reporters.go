package apiserver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Reporters are tens of thousands of identities, each of which does one thing every few seconds. The library keeps 8,192 answers of the
// hub for 10 seconds, which is a question for nearly every report of a large fleet. What these two wrappers keep is about reports only:
// any other request of a reporter is asked about as ever.

// maxReporters bounds how many reporters' answers are kept: an entry takes less than a kilobyte.
const maxReporters = 200_000

// isReport says whether a request is a report.
func isReport(a authorizer.Attributes) bool {
	return a.IsResourceRequest() && a.GetVerb() == "create" && a.GetAPIGroup() == binnacle.GroupName &&
		a.GetResource() == "clusterstatuses" && a.GetSubresource() == "report"
}

// reportAuthorizer keeps who may report for which cluster.
type reportAuthorizer struct {
	authorizer.Authorizer
	// reporters is asked about reports.
	reporters authorizer.Authorizer
	ttl       time.Duration
	allowed   *cache.LRUExpireCache
}

// RememberReporters keeps for a time that somebody may report for a cluster. A denial is not kept: its right may come any moment. About
// reports it asks reporters, or inner where that is nil.
func RememberReporters(inner, reporters authorizer.Authorizer, ttl time.Duration, clock clock.PassiveClock) authorizer.Authorizer {
	if reporters == nil {
		reporters = inner
	}
	return &reportAuthorizer{inner, reporters, ttl, cache.NewLRUExpireCacheWithClock(maxReporters, clock)}
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (r *reportAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if !isReport(a) {
		return r.Authorizer.Authorize(ctx, a)
	}
	if r.ttl <= 0 {
		return r.reporters.Authorize(ctx, a)
	}
	key := reporterKey(a)
	if reason, ok := r.allowed.Get(key); ok {
		return authorizer.DecisionAllow, reason.(string), nil
	}
	decision, reason, err := r.reporters.Authorize(ctx, a)
	if decision == authorizer.DecisionAllow && err == nil {
		r.allowed.Add(key, reason, spreadOut(r.ttl))
	}
	return decision, reason, err
}

// reporterKey is everything that the hub decides by. Each text and each list stands behind its length, so that no two identities have one
// key, whatever characters are in them.
func reporterKey(a authorizer.Attributes) [sha256.Size]byte {
	var b []byte
	write := func(parts ...string) {
		b = binary.AppendUvarint(b, uint64(len(parts)))
		for _, part := range parts {
			b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
		}
	}
	user := a.GetUser()
	write(a.GetAPIVersion(), a.GetNamespace(), a.GetName(), user.GetName(), user.GetUID())
	write(user.GetGroups()...)
	extra := user.GetExtra()
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		write(name)
		write(extra[name]...)
	}
	return sha256.Sum256(b)
}

// spreadOut shortens a time by up to a fifth, so that a fleet that came at one moment is not asked about again at one moment.
func spreadOut(ttl time.Duration) time.Duration {
	return ttl - time.Duration(rand.Int64N(int64(ttl)/5+1))
}

// RememberReporterTokens keeps for a time whom a bearer token stands for, for reports that come straight to this server and not through
// the hub.
func RememberReporterTokens(inner authenticator.Request, ttl time.Duration, clock clock.PassiveClock) authenticator.Request {
	if ttl <= 0 {
		return inner
	}
	known := cache.NewLRUExpireCacheWithClock(maxReporters, clock)
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
		// A client certificate comes first, and costs the hub nothing; without one, no other header of the request says who sends it. Of
		// several words the library takes the first, so that one token would have as many keys as somebody likes.
		if !ok || strings.Contains(token, " ") || req.Method != http.MethodPost || !isReportPath(req.URL.Path) || req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
			return inner.AuthenticateRequest(req)
		}
		key := sha256.Sum256([]byte(token))
		if response, ok := known.Get(key); ok {
			// As the library does, the token goes no further.
			req.Header.Del("Authorization")
			return response.(*authenticator.Response), true, nil
		}
		response, ok, err := inner.AuthenticateRequest(req)
		if ok && err == nil {
			known.Add(key, response, spreadOut(ttl))
		}
		return response, ok, err
	})
}

func isReportPath(path string) bool {
	return strings.HasPrefix(path, "/apis/"+binnacle.GroupName+"/") && strings.HasSuffix(path, "/report")
}
