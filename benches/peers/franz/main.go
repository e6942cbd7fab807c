// Command franz is the bare loop that the engine is measured against: a group
// member that polls and counts, and nothing else.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type result struct {
	Records    int64   `json:"records"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	PeakRSS    int64   `json:"peakRssBytes"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: franz BROKERS TOPIC GROUP RECORDS")
	}
	want, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(args[0]),
		kgo.ConsumerGroup(args[2]),
		kgo.ConsumeTopics(args[1]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var r result
	var start time.Time
	var before float64
	for r.Records < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		n := int64(fetches.NumRecords())
		if start.IsZero() && n > 0 {
			start, before = time.Now(), cpu()
		}
		r.Records += n
	}
	r.Seconds = time.Since(start).Seconds()
	r.CPUSeconds = cpu() - before
	r.PeakRSS = peak()
	return json.NewEncoder(os.Stdout).Encode(r)
}

func usage() syscall.Rusage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u
}

func cpu() float64 {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func peak() int64 { return usage().Maxrss * 1024 }
