package kafka

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// acceptedWith gives, for the keys that cannot stand alone, a complete set of
// options; the key's own value is in it.
func acceptedWith(t *testing.T) map[string]map[string]string {
	t.Helper()
	ca := newAuthority(t)
	key := newECKey(t)
	certificate, private := ca.sign(t, key, "client"), pkcs8(t, key)
	password := map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "secret"}
	oidc := map[string]string{
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
		"sasl.oauthbearer.token.endpoint.url": "https://id.example/token", "sasl.oauthbearer.client.id": "id",
		"sasl.oauthbearer.client.secret": "secret", "sasl.oauthbearer.scope": "kafka",
		"sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
	}
	aws := map[string]string{
		"sasl.mechanism": "AWS_MSK_IAM", "aws.region": "eu-west-1", "aws.profile": "p",
		"aws.role.arn": "arn:aws:iam::123456789012:role/r", "aws.role.session.name": "session",
	}
	gcp := map[string]string{
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp", "gcp.principal": "a@b",
		"gcp.credentials.file": tempFile(t, serviceAccountKey(t, "https://127.0.0.1/token")),
	}
	pem := map[string]string{"ssl.certificate.pem": certificate, "ssl.key.pem": private}
	file := map[string]string{"ssl.certificate.location": tempFile(t, certificate), "ssl.key.location": tempFile(t, private)}
	all := map[string]map[string]string{
		"ssl.ca.pem":                            {"ssl.ca.pem": ca.pem},
		"ssl.ca.location":                       {"ssl.ca.location": tempFile(t, ca.pem)},
		"enable.ssl.certificate.verification":   {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"},
		"ssl.endpoint.identification.algorithm": {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"},
	}
	for _, set := range []map[string]string{password, oidc, aws, gcp, pem, file} {
		for k := range set {
			all[k] = set
		}
	}
	return all
}

func TestEveryEngineKeyOfTheCatalogueIsAccepted(t *testing.T) {
	list, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	sets := acceptedWith(t)
	for _, o := range list.options {
		if !o.forEngine() {
			continue
		}
		for _, name := range append([]string{o.key}, o.aliases...) {
			options, ok := sets[o.key]
			if !ok {
				options = map[string]string{o.key: sample(o)}
			}
			value, ok := options[o.key]
			if !ok {
				t.Fatalf("no value for %s", o.key)
			}
			options = with(options, name, value)
			if name != o.key {
				delete(options, o.key)
			}
			if _, err := testConfig(options).Parse(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// sample is a valid value of an option that needs no others.
func sample(o *option) string {
	switch o.kind {
	case kindBool:
		return "true"
	case kindEnum, kindList:
		return o.words[0]
	case kindInt:
		if o.def != "" {
			return o.def
		}
		return fmt.Sprint(o.spans[0].min)
	}
	return "value"
}

func TestKeysOutsideOfTheEnginesPartAreRefused(t *testing.T) {
	list, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, o := range list.options {
		if o.forEngine() {
			continue
		}
		want := "does not apply to the engine"
		if o.refused() {
			want = o.remedy
		}
		_, err := testConfig(map[string]string{o.key: "hunter22"}).Parse()
		e := wantError(t, err, CodeConfig, o.key, want)
		if strings.Contains(e.Text, "hunter22") {
			t.Errorf("%s: the value is in the message: %v", o.key, e)
		}
		refused++
	}
	if refused < 10 {
		t.Errorf("only %d keys are refused", refused)
	}
	for key, nearest := range map[string]string{
		"fetch.min.byte": "fetch.min.bytes", "Group.Instance.ID": "group.instance.id",
		"sasl.pasword": "sasl.password", "auto.offset.rest": "auto.offset.reset",
	} {
		wantError(t, second(testConfig(map[string]string{key: "1"}).Parse()), CodeConfig, "unknown option", key, "did you mean "+nearest+"?")
	}
	wantError(t, second(testConfig(map[string]string{"": "1"}).Parse()), CodeConfig, "unknown option")
	wantError(t, second(testConfig(map[string]string{strings.Repeat("x", 1<<20): "1"}).Parse()), CodeConfig, "unknown option")
}

func second[T any](_ T, err error) error { return err }

func TestEveryRangeHasBothItsEndsAndNothingOutside(t *testing.T) {
	list, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, o := range list.options {
		if !o.forEngine() || o.kind != kindInt {
			continue
		}
		// The values around each range; those inside of another one are not outside.
		for _, s := range o.spans {
			for _, n := range []int64{s.min - 1, s.max + 1, math.MinInt64, math.MaxInt64} {
				if o.within(n) {
					continue
				}
				err := second(testConfig(map[string]string{o.key: fmt.Sprint(n)}).Parse())
				wantError(t, err, CodeConfig, o.key, fmt.Sprint(n), o.allowed())
				checked++
			}
			for _, n := range []int64{s.min, s.max} {
				if _, err := testConfig(roomFor(o.key, n)).Parse(); err != nil {
					t.Errorf("%s=%d: %v", o.key, n, err)
				}
			}
		}
		for _, text := range []string{"", " ", "1.5", "ten", "0x10", "1 2", "9223372036854775808", "1\x00"} {
			wantError(t, second(testConfig(map[string]string{o.key: text}).Parse()), CodeConfig, o.key)
		}
	}
	if checked < 60 {
		t.Errorf("only %d values out of range were tried", checked)
	}
}

// roomFor adds what lets an extreme value stand with the other options.
func roomFor(key string, n int64) map[string]string {
	options := map[string]string{key: fmt.Sprint(n)}
	switch key {
	case "session.timeout.ms":
		options["heartbeat.interval.ms"] = "50"
	case "heartbeat.interval.ms":
		options["session.timeout.ms"] = "3600000"
		if n == 3600000 {
			// It must be below the session timeout, whose maximum it equals.
			options[key] = "3599999"
		}
	}
	return options
}

// The catalogue's figures that others rely on, written out once more: the test
// above would agree with any typing error in the list.
func TestDefaultsAndRangesOfRecord(t *testing.T) {
	s := mustParse(t, testConfig(nil))
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"client.id", s.ClientID, "llingr"},
		{"socket.connection.setup.timeout.ms", s.ConnectionSetupTimeout, 10 * time.Second},
		{"connections.max.idle.ms", s.ConnectionsMaxIdle, 30 * time.Second},
		{"metadata.max.age.ms", s.MetadataMaxAge, 5 * time.Minute},
		{"llingr.request.retries", s.RequestRetries, 20},
		{"llingr.retry.timeout.ms", s.RetryTimeout, time.Duration(0)},
		{"enable.metrics.push", s.EnableMetricsPush, true},
		{"auto.offset.reset", s.OffsetReset, ResetLatest},
		{"isolation.level", s.ReadUncommitted, false},
		{"fetch.min.bytes", s.FetchMinBytes, int32(1)},
		{"fetch.max.bytes", s.FetchMaxBytes, int32(50 << 20)},
		{"max.partition.fetch.bytes", s.FetchMaxPartitionBytes, int32(1 << 20)},
		{"check.crcs", s.CheckCRCs, true},
		{"llingr.max.concurrent.fetches", s.MaxConcurrentFetches, 0},
		{"llingr.poll.error.bail.after.ms", s.PollErrorBailAfter, 10 * time.Minute},
		{"llingr.poll.error.log.interval.ms", s.PollErrorLogInterval, time.Second},
		{"llingr.poll.error.backoff.ms", s.PollErrorBackoff, 25 * time.Millisecond},
		{"group.protocol", s.GroupProtocol, ProtocolClassic},
		{"session.timeout.ms", s.SessionTimeout, 45 * time.Second},
		{"heartbeat.interval.ms", s.HeartbeatInterval, 3 * time.Second},
		{"rebalance.timeout.ms", s.RebalanceTimeout, time.Minute},
		{"partition.assignment.strategy", strings.Join(s.AssignmentStrategies, ","), "cooperative-sticky"},
		{"allow.auto.create.topics", s.AllowAutoCreateTopics, false},
	} {
		if c.got != c.want {
			t.Errorf("%s: default %v instead of %v", c.name, c.got, c.want)
		}
	}
	for key, values := range map[string][]string{
		"llingr.poll.error.bail.after.ms": {"1", "59999", "3600001", "-1"},
		"llingr.poll.error.backoff.ms":    {"-1", "5001"},
		"llingr.max.concurrent.fetches":   {"0", "-1"},
		"fetch.max.wait.ms":               {"9", "300001"},
		"auto.offset.reset":               {"", "smallest", "earliest,latest"},
		"isolation.level":                 {"serializable"},
		"check.crcs":                      {"yes", "1", ""},
		"partition.assignment.strategy":   {"", "uniform", "range,range", "range,,sticky"},
		"group.protocol":                  {"streams", "share"},
		"client.id":                       {"", strings.Repeat("x", 250), "a\x00b"},
		"group.instance.id":               {"", "a b", "ä", strings.Repeat("x", 250)},
		"client.rack":                     {strings.Repeat("x", 250)},
	} {
		for _, value := range values {
			wantError(t, second(testConfig(map[string]string{key: value}).Parse()), CodeConfig, key)
		}
	}
}

func TestValuesReachTheClient(t *testing.T) {
	s := mustParse(t, testConfig(map[string]string{
		"client.id": "me", "client.rack": "r1", "metadata.max.age.ms": "10", "connections.max.idle.ms": "1000",
		"llingr.request.retries": "7", "fetch.min.bytes": "3", "fetch.max.bytes": "1073741824",
		"max.partition.fetch.bytes": "2048", "fetch.wait.max.ms": "123", "isolation.level": "READ_UNCOMMITTED",
		"auto.offset.reset": "Earliest", "check.crcs": "FALSE", "llingr.max.concurrent.fetches": "2",
		"session.timeout.ms": " 9000 ", "heartbeat.interval.ms": "700", "rebalance.timeout.ms": "8000",
		"partition.assignment.strategy": "range, sticky,roundrobin", "group.instance.id": "i-1",
		"enable.metrics.push": "false", "allow.auto.create.topics": "true",
	}))
	client, err := NewConsumer(s)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		name string
		opt  any
		want any
	}{
		{"client.id", kgo.ClientID, "me"},
		{"client.rack", kgo.Rack, "r1"},
		{"metadata.max.age.ms", kgo.MetadataMaxAge, 10 * time.Millisecond},
		{"connections.max.idle.ms", kgo.ConnIdleTimeout, time.Second},
		{"llingr.request.retries", kgo.RequestRetries, int64(7)},
		{"fetch.min.bytes", kgo.FetchMinBytes, int32(3)},
		{"fetch.max.bytes", kgo.FetchMaxBytes, int32(1 << 30)},
		{"max.partition.fetch.bytes", kgo.FetchMaxPartitionBytes, int32(2048)},
		{"fetch.max.wait.ms", kgo.FetchMaxWait, 123 * time.Millisecond},
		{"isolation.level", kgo.FetchIsolationLevel, int8(0)},
		{"check.crcs", kgo.DisableFetchCRCValidation, true},
		{"llingr.max.concurrent.fetches", kgo.MaxConcurrentFetches, 2},
		{"session.timeout.ms", kgo.SessionTimeout, 9 * time.Second},
		{"heartbeat.interval.ms", kgo.HeartbeatInterval, 700 * time.Millisecond},
		{"rebalance.timeout.ms", kgo.RebalanceTimeout, 8 * time.Second},
		{"enable.metrics.push", kgo.DisableClientMetrics, true},
		{"allow.auto.create.topics", kgo.AllowAutoTopicCreation, true},
		{"group", kgo.ConsumerGroup, "shop"},
		{"commits", kgo.DisableAutoCommit, true},
	} {
		if got := client.OptValue(c.opt); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: the client has %v instead of %v", c.name, got, c.want)
		}
	}
	if id := client.OptValues(kgo.InstanceID); fmt.Sprint(id[0]) != "i-1" {
		t.Errorf("group.instance.id: %v", id)
	}
	var names []string
	for _, b := range s.balancers() {
		names = append(names, b.ProtocolName())
	}
	if !slices.Equal(names, []string{"range", "sticky", "roundrobin"}) {
		t.Errorf("assignors: %v", names)
	}
}

func TestEveryOffsetResetAndProtocolMakesAClient(t *testing.T) {
	for _, options := range []map[string]string{
		{"auto.offset.reset": "earliest"}, {"auto.offset.reset": "latest"},
		{"group.protocol": "consumer"}, {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky,range"},
		{"fetch.max.bytes": "1024"}, {"fetch.max.bytes": "1073741824", "max.partition.fetch.bytes": "1073741824"},
		{"metadata.max.age.ms": "3600000"}, {"llingr.retry.timeout.ms": "100"}, {"fetch.min.bytes": "0"},
	} {
		client, err := NewConsumer(mustParse(t, testConfig(options)))
		if err != nil {
			t.Errorf("%v: %v", options, err)
			continue
		}
		client.Close()
	}
}

func TestConflictsOfMembershipAndFetching(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		texts   []string
	}{
		{map[string]string{"group.protocol": "consumer", "session.timeout.ms": "9000"}, []string{"session.timeout.ms", "remove it"}},
		{map[string]string{"group.protocol": "consumer", "heartbeat.interval.ms": "900"}, []string{"heartbeat.interval.ms", "remove it"}},
		{map[string]string{"group.protocol": "consumer", "partition.assignment.strategy": "range"}, []string{"partition.assignment.strategy"}},
		{map[string]string{"heartbeat.interval.ms": "45000"}, []string{"heartbeat.interval.ms", "45000", "third"}},
		{map[string]string{"session.timeout.ms": "3000"}, []string{"heartbeat.interval.ms", "3000"}},
		{map[string]string{"fetch.max.wait.ms": "100", "fetch.wait.max.ms": "100"}, []string{"fetch.max.wait.ms", "fetch.wait.max.ms", "keep one"}},
		{map[string]string{"rebalance.timeout.ms": "20000"}, []string{"rebalance.timeout.ms", "20000", "drain timeout"}},
	} {
		config := testConfig(c.options)
		config.DrainTimeout = 20 * time.Second
		wantError(t, second(config.Parse()), CodeConfig, c.texts...)
	}
	config := testConfig(map[string]string{"rebalance.timeout.ms": "20001"})
	config.DrainTimeout = 20 * time.Second
	mustParse(t, config)
	if s := mustParse(t, testConfig(map[string]string{"fetch.max.bytes": "2000", "max.partition.fetch.bytes": "3000"})); s.FetchMaxPartitionBytes != 2000 {
		t.Errorf("max.partition.fetch.bytes exceeds fetch.max.bytes: %d", s.FetchMaxPartitionBytes)
	}
}

func TestBrokersTopicsAndGroupAreChecked(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		texts  []string
	}{
		{func(c *Config) { c.Brokers = nil }, []string{"no brokers", "host:port"}},
		{func(c *Config) { c.Brokers = []string{" , "} }, []string{"no brokers"}},
		{func(c *Config) { c.Brokers = []string{"a"} }, []string{`"a"`, "host:port"}},
		{func(c *Config) { c.Brokers = []string{"a:0"} }, []string{`"a:0"`, "1 to 65535"}},
		{func(c *Config) { c.Brokers = []string{"a:65536"} }, []string{"1 to 65535"}},
		{func(c *Config) { c.Brokers = []string{"a:+1"} }, []string{"1 to 65535"}},
		{func(c *Config) { c.Brokers = []string{":9092"} }, []string{"host name"}},
		{func(c *Config) { c.Brokers = []string{"a b:9092"} }, []string{"host name"}},
		{func(c *Config) { c.Brokers = []string{"a\x00:9092"} }, []string{"host name"}},
		{func(c *Config) { c.Brokers = []string{"::1:9092"} }, []string{"brackets"}},
		{func(c *Config) { c.Brokers = []string{"SSL://a:9092"} }, []string{"scheme", "security.protocol"}},
		{func(c *Config) {
			c.Brokers = nil
			for i := range maxBrokers + 1 {
				c.Brokers = append(c.Brokers, fmt.Sprintf("b%d:9092", i))
			}
		}, []string{"257 brokers", "256"}},
		{func(c *Config) { c.Topic = "" }, []string{"topic", "empty"}},
		{func(c *Config) { c.Topic = ".." }, []string{`".."`}},
		{func(c *Config) { c.Topic = "a/b" }, []string{`"a/b"`, "letters"}},
		{func(c *Config) { c.Topic = "a\x00b" }, []string{"letters"}},
		{func(c *Config) { c.Topic = strings.Repeat("x", 250) }, []string{"250", "249"}},
		{func(c *Config) { c.Group = "" }, []string{"group", "empty"}},
		{func(c *Config) { c.Group = "a\x00" }, []string{"group", "NUL"}},
		{func(c *Config) { c.Group = strings.Repeat("x", 32768) }, []string{"group", "32767"}},
		{func(c *Config) { c.DeadLetterTopics = []string{"orders"} }, []string{"dead-letter", "consumed"}},
		{func(c *Config) { c.DeadLetterTopics = []string{"d", "d"} }, []string{"twice"}},
		{func(c *Config) { c.DeadLetterTopics = []string{"d", ""} }, []string{"dead-letter topic", "empty"}},
		{func(c *Config) { c.DeadLetterTopics = make([]string, 65) }, []string{"65", "64"}},
	} {
		config := testConfig(nil)
		c.change(&config)
		wantError(t, second(config.Parse()), CodeConfig, c.texts...)
	}
	config := testConfig(nil)
	config.Brokers = []string{"a:1, [::1]:2", "a:1", "b.example:3"}
	if s := mustParse(t, config); !slices.Equal(s.Brokers, []string{"a:1", "[::1]:2", "b.example:3"}) {
		t.Errorf("brokers: %v", s.Brokers)
	}
}

func TestABrokenCatalogueIsAnError(t *testing.T) {
	for line, want := range map[string]string{
		"a\t\tint\t1..2\t\t\tengine":                                                 "7 columns",
		"a\t\tnumber\t1..2\t\t\tengine\tx":                                           "unknown type",
		"a\t\tint\t2..1\t\t\tengine\tx":                                              "empty",
		"a\t\tint\tx..1\t\t\tengine\tx":                                              "range",
		"a\t\tint\t1..y\t\t\tengine\tx":                                              "range",
		"a\t\tbool\ttrue|false\t\t\tengine\tx\na\t\tbool\ttrue|false\t\t\tengine\tx": "twice",
		"a\tb\tbool\t\t\t\tengine\tx\nb\t\tbool\t\t\t\tengine\tx":                    "twice",
	} {
		_, err := parseCatalogue(line)
		wantError(t, err, CodeConfig, want)
	}
}
