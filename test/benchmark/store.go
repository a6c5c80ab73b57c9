package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
)

// stored measures what an object takes in etcd: key and value.
func (b *bench) stored(ctx context.Context, values map[string]float64) error {
	tls, err := rest.TLSConfigFor(b.store.Config())
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{b.store.URL}, TLS: tls})
	if err != nil {
		return err
	}
	defer client.Close()
	prefix := "/registry/" + b.group + "/clusterprofiles/"
	if b.server != nil {
		prefix = "/registry/binnacle/" + b.group + "/clusterprofiles/"
	}
	response, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	if len(response.Kvs) != b.objects {
		return fmt.Errorf("%d objects under %s", len(response.Kvs), prefix)
	}
	total := 0
	for _, kv := range response.Kvs {
		total += len(kv.Key) + len(kv.Value)
	}
	values["bytes in etcd per object"] = float64(total) / float64(b.objects)
	return nil
}

// restart measures how long the server that serves the objects takes from its start to ready.
func (b *bench) restart(ctx context.Context, values map[string]float64) error {
	if b.server == nil {
		return nil // To restart the hub's API server is another matter than to restart ours.
	}
	b.say("restart")
	var took []float64
	for range b.rounds {
		if err := b.server.Stop(); err != nil {
			return err
		}
		started := time.Now()
		if err := b.server.Start(ctx); err != nil {
			return err
		}
		took = append(took, time.Since(started).Seconds()*1000)
	}
	values["start with objects ms"] = median(took)
	return nil
}

// sample returns the value of a metric without labels, by the first of its names that is there.
func sample(text string, names ...string) (float64, error) {
	for _, name := range names {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				return strconv.ParseFloat(strings.TrimSpace(value), 64)
			}
		}
	}
	return 0, fmt.Errorf("no metric %s", strings.Join(names, " or "))
}
