package apiserver

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	clocktesting "k8s.io/utils/clock/testing"
)

// hub answers questions about rights, and counts them.
type hub struct {
	decision authorizer.Decision
	err      error
	asked    int
}

func (h *hub) authorizer() authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		h.asked++
		return h.decision, "because", h.err
	})
}

// reportOf is a report by somebody, changed.
func reportOf(change ...func(*authorizer.AttributesRecord, *user.DefaultInfo)) authorizer.Attributes {
	who := &user.DefaultInfo{Name: "agent", UID: "1", Groups: []string{"agents", "all"}, Extra: map[string][]string{"pod": {"a", "b"}, "node": {"n"}}}
	a := &authorizer.AttributesRecord{
		User: who, Verb: "create", APIGroup: "binnacle.dev", APIVersion: "v1alpha1", Resource: "clusterstatuses", Subresource: "report",
		Namespace: "fleet", Name: "atlas", ResourceRequest: true, Path: "/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/atlas/report",
	}
	for _, c := range change {
		c(a, who)
	}
	return a
}

func allowed(t *testing.T, a authorizer.Authorizer, attributes authorizer.Attributes) {
	t.Helper()
	if decision, reason, err := a.Authorize(t.Context(), attributes); decision != authorizer.DecisionAllow || reason != "because" || err != nil {
		t.Fatalf("%v, %q, %v", decision, reason, err)
	}
}

// TestReportersAreRemembered asks the hub once for as long as the time says, and then again.
func TestReportersAreRemembered(t *testing.T) {
	wall, inner := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)), &hub{decision: authorizer.DecisionAllow}
	a := RememberReporters(inner.authorizer(), nil, 5*time.Minute, wall)
	for range 3 {
		allowed(t, a, reportOf())
	}
	// The time is shortened by up to a fifth.
	wall.SetTime(wall.Now().Add(4*time.Minute - time.Second))
	allowed(t, a, reportOf())
	if inner.asked != 1 {
		t.Fatalf("asked %d times within the time, want once", inner.asked)
	}
	wall.SetTime(wall.Now().Add(time.Minute + time.Second))
	allowed(t, a, reportOf())
	if inner.asked != 2 {
		t.Fatalf("asked %d times after the time, want twice", inner.asked)
	}
	// A right that was withdrawn is noticed then, too.
	wall.SetTime(wall.Now().Add(5 * time.Minute))
	inner.decision = authorizer.DecisionNoOpinion
	if decision, _, _ := a.Authorize(t.Context(), reportOf()); decision != authorizer.DecisionNoOpinion {
		t.Errorf("%v after the right was withdrawn and the time was over", decision)
	}
}

// TestReporterKeys remembers nobody for somebody else. The cases change one thing each, and each has to be asked about.
func TestReporterKeys(t *testing.T) {
	type record = authorizer.AttributesRecord
	tests := map[string]func(*record, *user.DefaultInfo){
		"nothing":              func(*record, *user.DefaultInfo) {},
		"user":                 func(_ *record, u *user.DefaultInfo) { u.Name = "agent2" },
		"uid":                  func(_ *record, u *user.DefaultInfo) { u.UID = "2" },
		"no uid":               func(_ *record, u *user.DefaultInfo) { u.UID = "" },
		"one group less":       func(_ *record, u *user.DefaultInfo) { u.Groups = u.Groups[:1] },
		"one group more":       func(_ *record, u *user.DefaultInfo) { u.Groups = append(u.Groups, "") },
		"groups run together":  func(_ *record, u *user.DefaultInfo) { u.Groups = []string{"agentsall"} },
		"groups in one":        func(_ *record, u *user.DefaultInfo) { u.Groups = []string{"agents\x00all"} },
		"groups as extra":      func(_ *record, u *user.DefaultInfo) { u.Groups, u.Extra["agents"] = nil, []string{"all"} },
		"no extra":             func(_ *record, u *user.DefaultInfo) { u.Extra = nil },
		"extra, other value":   func(_ *record, u *user.DefaultInfo) { u.Extra["pod"] = []string{"a", "c"} },
		"extra, other order":   func(_ *record, u *user.DefaultInfo) { u.Extra["pod"] = []string{"b", "a"} },
		"extra, values in one": func(_ *record, u *user.DefaultInfo) { u.Extra["pod"] = []string{"a\x00b"} },
		"extra, other name":    func(_ *record, u *user.DefaultInfo) { u.Extra = map[string][]string{"pod2": {"a", "b"}, "node": {"n"}} },
		"extra, names swapped": func(_ *record, u *user.DefaultInfo) { u.Extra = map[string][]string{"node": {"a", "b"}, "pod": {"n"}} },
		"cluster":              func(a *record, _ *user.DefaultInfo) { a.Name = "borealis" },
		"namespace":            func(a *record, _ *user.DefaultInfo) { a.Namespace = "fleet2" },
		"name and namespace":   func(a *record, _ *user.DefaultInfo) { a.Namespace, a.Name = "fleeta", "tlas" },
		"version":              func(a *record, _ *user.DefaultInfo) { a.APIVersion = "v1" },
	}
	inner := &hub{decision: authorizer.DecisionAllow}
	a := RememberReporters(inner.authorizer(), nil, time.Minute, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	for name, change := range tests {
		before := inner.asked
		allowed(t, a, reportOf(change))
		if inner.asked != before+1 {
			t.Errorf("%s: it passed for another one", name)
		}
	}
	for name, change := range tests {
		before := inner.asked
		allowed(t, a, reportOf(change))
		if inner.asked != before {
			t.Errorf("%s: it is not remembered", name)
		}
	}
}

// TestOnlyRightsToReportAreRemembered asks about everything else each time, and about who was denied, or was judged with an error.
func TestOnlyRightsToReportAreRemembered(t *testing.T) {
	type record = authorizer.AttributesRecord
	failed := errors.New("the hub is away")
	tests := map[string]struct {
		decision authorizer.Decision
		err      error
		change   func(*record, *user.DefaultInfo)
	}{
		"a denial":           {authorizer.DecisionDeny, nil, func(*record, *user.DefaultInfo) {}},
		"no opinion":         {authorizer.DecisionNoOpinion, nil, func(*record, *user.DefaultInfo) {}},
		"an error":           {authorizer.DecisionNoOpinion, failed, func(*record, *user.DefaultInfo) {}},
		"allowed in spite":   {authorizer.DecisionAllow, failed, func(*record, *user.DefaultInfo) {}},
		"a read":             {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.Verb = "get" }},
		"an impersonation":   {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.Verb = "impersonate" }},
		"no subresource":     {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.Subresource = "" }},
		"other resource":     {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.Resource = "rollouts" }},
		"other group":        {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.APIGroup = "binnacle.example" }},
		"no resource at all": {authorizer.DecisionAllow, nil, func(a *record, _ *user.DefaultInfo) { a.ResourceRequest = false }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inner := &hub{decision: test.decision, err: test.err}
			a := RememberReporters(inner.authorizer(), nil, time.Minute, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
			for range 2 {
				decision, reason, err := a.Authorize(t.Context(), reportOf(test.change))
				if decision != test.decision || reason != "because" || !errors.Is(err, test.err) {
					t.Errorf("%v, %q, %v", decision, reason, err)
				}
			}
			if inner.asked != 2 {
				t.Errorf("asked %d times, want each time", inner.asked)
			}
			// The right comes, and counts at once.
			inner.decision, inner.err = authorizer.DecisionAllow, nil
			allowed(t, a, reportOf(test.change))
		})
	}
}

// TestNothingIsRememberedForNoTime is what the flag says of 0.
func TestNothingIsRememberedForNoTime(t *testing.T) {
	inner := &hub{decision: authorizer.DecisionAllow}
	a := RememberReporters(inner.authorizer(), nil, 0, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	allowed(t, a, reportOf())
	allowed(t, a, reportOf())
	if inner.asked != 2 {
		t.Errorf("asked %d times, want each time", inner.asked)
	}
}

// TestSpreadOut shortens by a fifth at most, and not all alike.
func TestSpreadOut(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		ttl := spreadOut(10 * time.Minute)
		if ttl > 10*time.Minute || ttl < 8*time.Minute {
			t.Fatalf("%s", ttl)
		}
		seen[ttl] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different times", len(seen))
	}
	if ttl := spreadOut(1); ttl != 1 {
		t.Errorf("the shortest time became %s", ttl)
	}
}

// TestReportersAreAskedAboutApart asks one authorizer about reports, and another about everything else.
func TestReportersAreAskedAboutApart(t *testing.T) {
	all, reporters := &hub{decision: authorizer.DecisionAllow}, &hub{decision: authorizer.DecisionAllow}
	a := RememberReporters(all.authorizer(), reporters.authorizer(), time.Minute, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	allowed(t, a, reportOf())
	allowed(t, a, reportOf())
	if all.asked != 0 || reporters.asked != 1 {
		t.Errorf("of two reports %d were asked about with all others, and %d apart", all.asked, reporters.asked)
	}
	allowed(t, a, reportOf(func(a *authorizer.AttributesRecord, _ *user.DefaultInfo) { a.Verb = "get" }))
	if all.asked != 1 || reporters.asked != 1 {
		t.Errorf("of a get %d were asked about with all others, and %d apart", all.asked, reporters.asked)
	}
}
