package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on (proc(5)).
const ticksPerSecond = 100

// cpu returns the processor time of each process so far, in seconds.
func (b *bench) cpu() (map[string]float64, error) {
	used := map[string]float64{}
	for name, process := range b.processes() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.PID()))
		if err != nil {
			return nil, err
		}
		// The name in the second field may hold spaces; the fields after it do not (proc_pid_stat(5): 14 is utime, 15 stime).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseFloat(string(field), 64)
			if err != nil {
				return nil, err
			}
			used[name] += ticks / ticksPerSecond
		}
	}
	return used, nil
}

// resident waits until memory has settled, and returns that of each process in bytes.
func (b *bench) resident(ctx context.Context) (map[string]float64, error) {
	var last float64
	for calm := 0; ; {
		now, sum := map[string]float64{}, 0.0
		for name, process := range b.processes() {
			bytes, err := process.RSS()
			if err != nil {
				return nil, err
			}
			now[name] = float64(bytes)
			sum += float64(bytes)
		}
		if sum > last*0.99 && sum < last*1.01 {
			calm++
		} else {
			calm = 0
		}
		if last = sum; calm == 5 {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}
