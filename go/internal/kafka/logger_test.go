package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestLinesUpToTheLevelReachTheLogger(t *testing.T) {
	for level, want := range map[string]int{"none": 0, "error": 1, "warn": 2, "info": 3, "debug": 4} {
		lines := &logLines{}
		config := testConfig(map[string]string{"llingr.client.log.level": level})
		config.Log = lines
		log := mustParse(t, config).log
		for _, l := range []kgo.LogLevel{kgo.LogLevelError, kgo.LogLevelWarn, kgo.LogLevelInfo, kgo.LogLevelDebug, kgo.LogLevelNone} {
			log.Log(l, "message", "key", 1, "odd")
		}
		if len(lines.lines) != want || int(log.Level()) != want {
			t.Errorf("%s: %d lines, level %v", level, len(lines.lines), log.Level())
		}
		if want > 0 && lines.lines[0] != "message key=1" {
			t.Errorf("line %q", lines.lines[0])
		}
	}
	silent := mustParse(t, testConfig(map[string]string{"llingr.client.log.level": "debug"})).log
	silent.Log(kgo.LogLevelError, "no logger")
	if silent.Level() != kgo.LogLevelNone {
		t.Errorf("level without a logger: %v", silent.Level())
	}
}

func TestLinesHoldNoSecretsAndNoControlCharacters(t *testing.T) {
	lines := &logLines{}
	config := testConfig(with(plainLogin, "llingr.client.log.level", "debug"))
	config.Log = lines
	log := mustParse(t, config).log
	log.Log(kgo.LogLevelInfo, "a\nb hunter22", "err", "refused hunter22\x00", "long", strings.Repeat("x", 2*maxLogLine))
	got := lines.all()
	if strings.Contains(got, "hunter22") || strings.ContainsAny(got, "\n\x00") || len(got) > maxLogLine+3 || !strings.HasPrefix(got, "a b [redacted] err=refused [redacted]") {
		t.Errorf("line %q", clip(got, 200))
	}
	// A secret inside of another leaves no remainder; short ones are words.
	if got := redact("hunter22-extra ab", redactable([]string{"ab", "hunter22", "hunter22-extra"})); got != "[redacted] ab" {
		t.Errorf("redacted: %q", got)
	}
}

func TestALoginLogsNoPassword(t *testing.T) {
	lines := &logLines{}
	config := testConfig(with(plainLogin, "llingr.client.log.level", "debug"))
	config.Brokers = []string{closedPort(t)}
	config.Log = lines
	if err := check(t, config); err == nil {
		t.Fatal("success without a broker")
	}
	if got := lines.all(); got == "" || strings.Contains(got, "hunter22") {
		t.Errorf("log: %q", got)
	}
}
