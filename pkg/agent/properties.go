package agent

import (
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// The limits of a ClusterReport for properties.
const (
	maxProperties      = 256
	maxPropertyName    = 253
	maxPropertyValue   = 1024
	maxPropertyAllSize = 32 << 10
)

// properties are the ClusterProperty objects of the cluster (About API).
type properties struct {
	mu     sync.Mutex
	values map[string]string
	listed bool
	// missing is how often in a row there was no kind to read.
	missing int
}

func (p *properties) set(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[name] = value
}

func (p *properties) delete(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.values, name)
}

// replace makes these the properties that there are.
func (p *properties) replace(values map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values, p.listed, p.missing = values, true, 0
}

// absent takes the answer that there is nothing to read. A cluster without the About API has no properties, and one that does not let us read
// them has none for us. But an API server that has just started may give such an answer by mistake, so what is known stays until it has
// been said twice that the kind is not there.
func (p *properties) absent(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listed && len(p.values) > 0 {
		if p.missing++; p.missing < 2 || !apierrors.IsNotFound(err) {
			return
		}
	}
	p.values, p.listed, p.missing = map[string]string{}, true, 0
}

// isListed says whether the properties are known.
func (p *properties) isListed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listed
}

// summarize returns the properties by name, and how many it leaves out because a report may not have them: a value that were cut would
// say something else.
func (p *properties) summarize() (reported []v1alpha1.ReportedProperty, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.listed {
		return nil, 0
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		value := p.values[name]
		if len(reported) == maxProperties || len(name) > maxPropertyName || utf8.RuneCountInString(value) > maxPropertyValue ||
			size+len(name)+len(value) > maxPropertyAllSize {
			left++
			continue
		}
		size += len(name) + len(value)
		reported = append(reported, v1alpha1.ReportedProperty{Name: name, Value: value})
	}
	return reported, left
}
