package kafka

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a host passes ends in settings or in an error of configuration that
// shows no secret and stays short.
func FuzzParse(f *testing.F) {
	list, err := loadCatalogue()
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range list.options {
		f.Add(o.key, o.def, "b:9092", "topic", "group")
		f.Add(o.key, "\x00", "", ".", "\xff")
		f.Add(o.key+"x", "-1", "b:70000", strings.Repeat("t", 300), "")
	}
	f.Fuzz(func(t *testing.T, key, value, broker, topic, group string) {
		if o := list.byName[key]; o != nil && o.kind == kindPath {
			t.Skip("a fuzzer must not open files by name")
		}
		const secret = "hunter22-hunter22"
		s, err := Config{
			Brokers: []string{broker}, Topic: topic, Group: group,
			Options: map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": secret, key: value},
		}.Parse()
		if err == nil {
			client, err := newClient(s.clientOpts(nil))
			if err != nil {
				t.Fatalf("accepted, but the client refuses it: %v", err)
			}
			client.Close()
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != CodeConfig {
			t.Fatalf("%T: %v", err, err)
		}
		if strings.Contains(e.Text, secret) || len(e.Text) > 4096 || utf8.ValidString(value+key+broker+topic+group) && !utf8.ValidString(e.Text) {
			t.Fatalf("message %q", e.Text)
		}
	})
}
