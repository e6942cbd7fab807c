package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llingr/llingr-kafka/go/internal/engine"
	"github.com/llingr/llingr-kafka/go/internal/kafka"
)

// valid is a complete configuration.
func valid(brokers ...string) map[string]any {
	return map[string]any{
		"brokers": brokers, "topic": "orders", "group": "billing",
		"options":          map[string]string{"session.timeout.ms": "6000", "auto.offset.reset": "earliest"},
		"deadLetterTopics": []string{"orders.dead"},
		"engine": map[string]any{
			"maxHeldRecords": 1000, "maxHeldBytes": 1 << 20, "maxHeldRecordsPerPartition": 0,
			"maxHeldBytesPerPartition": 0, "maxRunAheadPerPartition": 1000,
			"commitIntervalMs": 100, "drainTimeoutMs": 1000, "assignmentTimeoutMs": 0,
			"commitMetadata": true, "memoryLimitBytes": 0,
		},
	}
}

func encode(t *testing.T, c map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConfigurationErrorsNameTheKey(t *testing.T) {
	inEngine := func(key string, v any) func(map[string]any) {
		return func(c map[string]any) { c["engine"].(map[string]any)[key] = v }
	}
	cases := map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"no brokers":       {func(c map[string]any) { c["brokers"] = []string{} }, "brokers"},
		"no topic":         {func(c map[string]any) { delete(c, "topic") }, "topic"},
		"no group":         {func(c map[string]any) { c["group"] = "" }, "group"},
		"unknown field":    {func(c map[string]any) { c["colour"] = "red" }, "colour"},
		"type":             {func(c map[string]any) { c["topic"] = 5 }, "topic"},
		"unknown option":   {func(c map[string]any) { c["options"] = map[string]string{"sesion.timeout.ms": "1"} }, "session.timeout.ms"},
		"records":          {inEngine("maxHeldRecords", 0), "maxHeldRecords"},
		"bytes":            {inEngine("maxHeldBytes", uint64(1)<<41), "maxHeldBytes"},
		"records overflow": {inEngine("maxHeldRecords", uint64(1)<<63), "maxHeldRecords"},
		"part records":     {inEngine("maxHeldRecordsPerPartition", uint64(1)<<32), "maxHeldRecordsPerPartition"},
		"part bytes":       {inEngine("maxHeldBytesPerPartition", uint64(1)<<41), "maxHeldBytesPerPartition"},
		"run ahead":        {inEngine("maxRunAheadPerPartition", 63), "maxRunAheadPerPartition"},
		"commit interval":  {inEngine("commitIntervalMs", 9), "commitIntervalMs"},
		"drain":            {inEngine("drainTimeoutMs", -1), "drainTimeoutMs"},
		"assignment":       {inEngine("assignmentTimeoutMs", 3_600_001), "assignmentTimeoutMs"},
		"memory":           {inEngine("memoryLimitBytes", -1), "memoryLimitBytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := valid("127.0.0.1:1")
			c.change(config)
			_, err := New(encode(t, config), newFakeHost())
			if err == nil || Code(err) != CodeConfig || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v (code %d)", err, Code(err))
			}
		})
	}
	if _, err := New(append(encode(t, valid("127.0.0.1:1")), " {}"...), newFakeHost()); err == nil || !strings.Contains(err.Error(), "after") {
		t.Fatalf("text after the object: %v", err)
	}
}

// mutate changes a text in the ways that broken senders do.
func mutate(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	tokens := []string{"null", "-1", "1e999", "\"\"", "[]", "{}", "\x00", "\xff", "\\u0000", "18446744073709551616", "true", "[[[[[", ",", "\"", ":", "0.5"}
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(b) + 1)
		switch rng.IntN(5) {
		case 0:
			b = b[:at]
		case 1:
			b = append(b[:at:at], append([]byte(tokens[rng.IntN(len(tokens))]), b[at:]...)...)
		case 2:
			end := min(len(b), at+1+rng.IntN(20))
			b = append(b[:at:at], append([]byte(tokens[rng.IntN(len(tokens))]), b[end:]...)...)
		case 3:
			end := min(len(b), at+rng.IntN(30))
			b = append(b[:at:at], b[end:]...)
		default:
			if at < len(b) {
				b[at] ^= 1 << rng.IntN(8)
			}
		}
	}
	return b
}

func TestTenThousandMutatedConfigurations(t *testing.T) {
	seed := encode(t, valid("127.0.0.1:1"))
	rng := rand.New(rand.NewPCG(1, 5))
	host := newFakeHost()
	refused, usable := 0, 0
	for i := 0; refused < 10_000; i++ {
		text := mutate(rng, seed)
		if c, err := parse(text); err == nil {
			settings := kafka.Config{
				Brokers: c.Brokers, Topic: c.Topic, Group: c.Group, Options: c.Options,
				DeadLetterTopics: c.DeadLetterTopics, DrainTimeout: ms(c.Engine.DrainTimeoutMs), Log: host,
			}
			if _, err := settings.Parse(); err == nil {
				usable++ // still a configuration: New would go out and connect
				continue
			}
		}
		s, err := New(text, host)
		if err == nil || s != nil {
			t.Fatalf("accepted: %q", text)
		}
		if code := Code(err); code != CodeConfig || err.Error() == "" {
			t.Fatalf("code %d (%v) for %q", code, err, text)
		}
		refused++
	}
	if usable > 10_000 {
		t.Fatalf("%d mutations changed nothing", usable)
	}
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int32
	}{
		{engine.ErrStopped, CodeState},
		{fmt.Errorf("while starting: %w", engine.ErrStarted), CodeState},
		{engine.ErrEnded, CodeState},
		{Errorf(CodeNoEngine, "none"), CodeNoEngine},
		{fmt.Errorf("around: %w", Errorf(CodeConfig, "inner")), CodeConfig},
		{errors.New("anything"), CodeArgument},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestTokensOfTheHost(t *testing.T) {
	const secret = "s3cr3t-token"
	for name, c := range map[string]struct {
		answer string
		err    error
		want   string
	}{
		"good":      {`{"token":"` + secret + `","extensions":{"a":"b"}}`, nil, ""},
		"empty":     {`{"token":""}`, nil, "no token"},
		"not JSON":  {secret, nil, "no token"},
		"null":      {`null`, nil, "no token"},
		"no answer": {``, nil, "no token"},
		"error":     {``, errors.New("the vault is shut"), "the vault is shut"},
	} {
		host := newFakeHost()
		host.token = func() ([]byte, error) { return []byte(c.answer), c.err }
		got, err := token(host)
		if c.want == "" {
			if err != nil || got.Token != secret || got.Extensions["a"] != "b" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
