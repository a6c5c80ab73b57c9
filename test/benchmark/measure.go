package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
)

const (
	jsonType   = "application/json"
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// figures are what was measured one way, by name.
type figures struct {
	Way    string             `json:"way"`
	Values map[string]float64 `json:"values"`
}

// run measures everything of one side. The first way loads the objects, which both share.
func (b *bench) run(ctx context.Context) ([]figures, error) {
	found := map[string]figures{}
	ways := b.ways()
	for way := range ways {
		found[way] = figures{way, map[string]float64{}}
	}
	main := found[b.name].Values
	b.say("memory before")
	before, err := b.resident(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, ways[b.name], main); err != nil {
		return nil, err
	}
	if err := b.stored(ctx, main); err != nil {
		return nil, err
	}
	b.say("memory with objects")
	after, err := b.resident(ctx)
	if err != nil {
		return nil, err
	}
	for process := range after {
		main["resident MiB before: "+process] = before[process] / (1 << 20)
		main["resident MiB: "+process] = after[process] / (1 << 20)
		main["resident growth MiB"] += (after[process] - before[process]) / (1 << 20)
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		for _, measure := range []func(context.Context, *rest.Config, map[string]float64) error{b.creates, b.requests, b.lists, b.watches} {
			if err := measure(ctx, ways[way], found[way].Values); err != nil {
				return nil, fmt.Errorf("%s: %w", way, err)
			}
		}
	}
	if err := b.restart(ctx, main); err != nil {
		return nil, err
	}
	var all []figures
	for _, way := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[way])
	}
	return all, nil
}

func (b *bench) say(what string) { fmt.Fprintf(os.Stderr, "%s: %s\n", b.name, what) }

// fill creates the objects and gives each its status.
func (b *bench) fill(ctx context.Context, config *rest.Config, values map[string]float64) error {
	b.say("fill")
	created, err := b.load(ctx, config, b.objects, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPost, "", jsonType, profile(b.group, name(i), i))
		return err
	})
	if err != nil {
		return err
	}
	created.into(values, "fill")
	b.say("first status")
	filled, err := b.load(ctx, config, b.objects, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPatch, "/"+name(i)+"/status", mergePatch, status(i, 0))
		return err
	})
	filled.into(values, "first status")
	return err
}

// creates makes objects for a while beside those that are there, and removes them.
func (b *bench) creates(ctx context.Context, config *rest.Config, values map[string]float64) error {
	b.say("create")
	stop, err := b.profile(ctx, config, "create")
	if err != nil {
		return err
	}
	made, err := b.load(ctx, config, 0, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPost, "", jsonType, profile(b.group, fmt.Sprintf("extra-%06d", i), i))
		return err
	})
	if err := firstError(err, stop()); err != nil {
		return err
	}
	made.into(values, "create")
	_, err = b.load(ctx, config, made.requests, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodDelete, fmt.Sprintf("/extra-%06d", i), jsonType, "")
		return err
	})
	return err
}

func (r result) into(values map[string]float64, what string) {
	values[what+"/s"] = r.perSecond
	values[what+" p50 ms"] = r.p50.Seconds() * 1000
	values[what+" p99 ms"] = r.p99.Seconds() * 1000
	for process, seconds := range r.cpuPerSecond {
		values[what+" cpu ms: "+process] = seconds * 1000
		values[what+" cpu ms"] += seconds * 1000
	}
}

// requests sends each kind of request for a while.
func (b *bench) requests(ctx context.Context, config *rest.Config, values map[string]float64) error {
	kinds := []struct {
		name string
		work work
	}{
		{"get", func(ctx context.Context, c *caller, i int) error {
			_, err := c.send(ctx, http.MethodGet, "/"+name(i%b.objects), jsonType, "")
			return err
		}},
		{"status patch", func(ctx context.Context, c *caller, i int) error {
			_, err := c.send(ctx, http.MethodPatch, "/"+name(i%b.objects)+"/status", mergePatch, status(i%b.objects, 1+i/b.objects))
			return err
		}},
		{"update", func(ctx context.Context, c *caller, i int) error {
			// A PUT of what was just read with another label, as a controller does it; the time of both counts.
			path := "/" + name(i%b.objects)
			object, err := c.send(ctx, http.MethodGet, path, jsonType, "")
			if err != nil {
				return err
			}
			_, err = c.send(ctx, http.MethodPut, path, jsonType, strings.Replace(object, `"labels":{`, fmt.Sprintf(`"labels":{"round-%d":"x",`, i), 1))
			return err
		}},
		{"apply", func(ctx context.Context, c *caller, i int) error {
			_, err := c.send(ctx, http.MethodPatch, "/"+name(i%b.objects)+"?fieldManager=bench&force=true", applyPatch,
				strings.Replace(profile(b.group, name(i%b.objects), i%b.objects), `"displayName":"`, fmt.Sprintf(`"displayName":"%d `, i), 1))
			return err
		}},
	}
	for _, kind := range kinds {
		b.say(kind.name)
		r, err := b.load(ctx, config, 0, kind.work)
		if err != nil {
			return err
		}
		r.into(values, kind.name)
	}
	return nil
}

// lists reads all objects with a dynamic client and, of Binnacle, with the typed one, which speaks protobuf.
func (b *bench) lists(ctx context.Context, config *rest.Config, values map[string]float64) error {
	resource := schema.GroupVersionResource{Group: b.group, Version: "v1alpha1", Resource: "clusterprofiles"}
	readers := map[string]func() (int, error){
		"list dynamic": func() (int, error) {
			list, err := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return 0, err
			}
			return len(list.Items), nil
		},
	}
	if b.server != nil {
		typed := rest.CopyConfig(config)
		typed.ContentType, typed.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
		readers["list typed"] = func() (int, error) {
			list, err := versioned.NewForConfigOrDie(typed).MulticlusterV1alpha1().ClusterProfiles(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return 0, err
			}
			return len(list.Items), nil
		}
	}
	for what, read := range readers {
		b.say(what)
		var took []float64
		before, err := b.cpu()
		if err != nil {
			return err
		}
		for range b.rounds + 1 {
			started := time.Now()
			n, err := read()
			if err != nil || n != b.objects {
				return fmt.Errorf("%s: %d objects, %w", what, n, err)
			}
			took = append(took, time.Since(started).Seconds()*1000)
		}
		after, err := b.cpu()
		if err != nil {
			return err
		}
		values[what+" ms"] = median(took[1:]) // the first one opens connections
		for process := range after {
			values[what+" cpu ms"] += (after[process] - before[process]) * 1000 / float64(len(took))
		}
	}
	return nil
}

// watches opens watches and measures how long it takes until each has every event of a burst of writes.
func (b *bench) watches(ctx context.Context, config *rest.Config, values map[string]float64) error {
	b.say("watch")
	const burst = 200
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resource := schema.GroupVersionResource{Group: b.group, Version: "v1alpha1", Resource: "clusterprofiles"}
	list, err := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	var events atomic.Int64
	var opened, done sync.WaitGroup
	failed := make(chan error, b.watchers)
	for range b.watchers {
		opened.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			w, err := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
			opened.Done()
			if err != nil {
				failed <- err
				return
			}
			defer w.Stop()
			for range burst {
				if _, ok := <-w.ResultChan(); !ok {
					failed <- fmt.Errorf("a watch has ended before its last event")
					return
				}
				events.Add(1)
			}
		}()
	}
	opened.Wait()
	before, err := b.cpu()
	if err != nil {
		return err
	}
	started := time.Now()
	// One writer: a burst through all connections would end the watches of the slower side.
	paced := *b
	paced.connections = 1
	if _, err := paced.load(ctx, config, burst, func(ctx context.Context, c *caller, i int) error {
		_, err := c.send(ctx, http.MethodPatch, "/"+name(i), mergePatch, fmt.Sprintf(`{"metadata":{"annotations":{"burst":"%d"}}}`, time.Now().UnixNano()))
		return err
	}); err != nil {
		return err
	}
	done.Wait()
	took := time.Since(started)
	after, err := b.cpu()
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	values["watch events/s"] = float64(events.Load()) / took.Seconds()
	for process := range after {
		values["watch cpu µs"] += (after[process] - before[process]) * 1e6 / float64(events.Load())
	}
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
