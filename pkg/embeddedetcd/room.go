package embeddedetcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// makeRoom lets a member write again whose database has reached its limit: it compacts the history of all keys, gives the space back,
// and ends the alarms, which are given. While one is on, an API server cannot compact either, since it notes each compaction in a key. If there is no
// room then, the next write raises the alarm again.
func makeRoom(ctx context.Context, endpoint string, full []*etcdserverpb.AlarmMember) (err error) {
	client, err := newClient(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	before, err := client.Status(ctx, endpoint)
	if err != nil {
		return err
	}
	if _, err := client.Compact(ctx, before.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("cannot compact a full database: %w", err)
	}
	if _, err := client.Defragment(ctx, endpoint); err != nil {
		return fmt.Errorf("cannot give back the space of a full database: %w", err)
	}
	for _, alarm := range full {
		if _, err := client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
			return err
		}
	}
	after, err := client.Status(ctx, endpoint)
	if err != nil {
		return err
	}
	klog.InfoS("The embedded etcd was full, and was compacted", "bytesBefore", before.DbSize, "bytesAfter", after.DbSize, "limit", after.DbSizeQuota)
	return nil
}

// outOfSpace leaves out alarms of another kind, such as that of damaged data.
func outOfSpace(alarms []*etcdserverpb.AlarmMember) (full []*etcdserverpb.AlarmMember) {
	for _, alarm := range alarms {
		if alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			full = append(full, alarm)
		}
	}
	return full
}
