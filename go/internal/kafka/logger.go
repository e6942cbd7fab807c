package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Log levels of include/llingr.h.
const (
	LevelError = 1
	LevelWarn  = 2
	LevelInfo  = 3
	LevelDebug = 4
)

// maxLogLine bounds one line; the client logs whole assignments.
const maxLogLine = 4096

// clientLogger passes the client's log lines on, up to a level and without
// secrets. kgo's levels have the same numbers as those of the boundary.
type clientLogger struct {
	to      Logger
	level   kgo.LogLevel
	secrets []string
}

func newClientLogger(to Logger, level string, secrets []string) *clientLogger {
	l := &clientLogger{to: to, secrets: redactable(secrets)}
	if to == nil {
		return l
	}
	switch level {
	case "error":
		l.level = kgo.LogLevelError
	case "warn":
		l.level = kgo.LogLevelWarn
	case "info":
		l.level = kgo.LogLevelInfo
	case "debug":
		l.level = kgo.LogLevelDebug
	}
	return l
}

// Level implements kgo.Logger.
func (l *clientLogger) Level() kgo.LogLevel { return l.level }

// Log implements kgo.Logger: the message, then its fields as name=value.
func (l *clientLogger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if level == kgo.LogLevelNone || level > l.level {
		return
	}
	var b strings.Builder
	b.WriteString(msg)
	for i := 0; i+1 < len(keyvals) && b.Len() < maxLogLine; i += 2 {
		fmt.Fprintf(&b, " %v=%v", keyvals[i], keyvals[i+1])
	}
	// Redaction comes before the cut, which might halve a secret.
	l.to.Log(int(level), clip(redact(printable(b.String()), l.secrets), maxLogLine))
}

// redactable drops texts that are too short to be told from ordinary words;
// the client never logs credentials, this is the second line of defence. The
// longest come first, so that a secret inside another leaves no remainder.
func redactable(secrets []string) []string {
	kept := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < 4 })
	slices.SortFunc(kept, func(a, b string) int { return len(b) - len(a) })
	return kept
}

func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
