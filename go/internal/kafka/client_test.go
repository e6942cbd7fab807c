package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience bounds waits that normally take milliseconds.
const patience = 20 * time.Second

func check(t *testing.T, c Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return Check(ctx, mustParse(t, c))
}

func TestOpenConsumes(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			_, config := startCluster(t)
			config.DeadLetterTopics = []string{"orders-dead"}
			config.Options = map[string]string{"auto.offset.reset": "earliest", "group.protocol": protocol}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			client, err := Open(ctx, mustParse(t, config), kgo.ClientID("other"))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if id := client.OptValue(kgo.ClientID); id != "other" {
				t.Errorf("an extra option did not win: %v", id)
			}
			if err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("hello")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			fetches := client.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			if records := fetches.Records(); len(records) != 1 || string(records[0].Value) != "hello" {
				t.Errorf("records: %v", records)
			}
		})
	}
}

func TestCheckLeavesNoMemberBehind(t *testing.T) {
	cluster, config := startCluster(t)
	for range 3 {
		if err := check(t, config); err != nil {
			t.Fatal(err)
		}
	}
	if info := cluster.GroupInfo("shop"); info != nil && len(info.Members) != 0 {
		t.Errorf("members: %v", info.Members)
	}
}

func TestBrokersThatCannotBeUsed(t *testing.T) {
	ca := newAuthority(t)
	_, plain := startCluster(t)
	_, secured := startCluster(t, kfake.TLS(ca.serverTLS(t, "127.0.0.1")))
	_, protected := startCluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "bob", "right-password"), kfake.Superuser("SCRAM-SHA-256", "bob", "right-password"))
	http := listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	ssh := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") })
	noise := listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = c.Write([]byte{0xff, 0xfe, 0xfd, 0xfc, 0, 0, 0, 0})
	})
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	hangup := listen(t, func(net.Conn) {})
	quick := map[string]string{"socket.connection.setup.timeout.ms": "400"}
	slowly := map[string]string{"socket.connection.setup.timeout.ms": "15000"}
	login := with(slowly, "sasl.mechanism", "PLAIN", "sasl.username", "bob", "sasl.password", "right-password")
	for _, c := range []struct {
		name    string
		brokers []string
		options map[string]string
		code    int32 // 0 = success
		texts   []string
	}{
		{"unknown host", []string{"no-such-host.invalid:9092"}, slowly, CodeUnreachable, []string{"no-such-host.invalid:9092", "no-such-host.invalid"}},
		{"refused", []string{closedPort(t)}, slowly, CodeUnreachable, []string{"no connection", "refused"}},
		{"HTTP", []string{http}, slowly, CodeUnreachable, []string{http, "speaks HTTP"}},
		{"SSH", []string{ssh}, slowly, CodeUnreachable, []string{ssh, "speaks SSH"}},
		{"noise", []string{noise}, slowly, CodeUnreachable, []string{noise, "something other than Kafka"}},
		{"never answers", []string{silent}, quick, CodeUnreachable, []string{silent, "no answer", "400"}},
		{"never answers over TLS", []string{silent}, with(quick, "security.protocol", "SSL"), CodeUnreachable, []string{silent, "no answer", "400"}},
		{"hangs up", []string{hangup}, slowly, CodeAuth, []string{hangup, "closed", "security.protocol"}},
		{"hangs up over TLS", []string{hangup}, with(slowly, "security.protocol", "SSL"), CodeAuth, []string{hangup, "TLS", "security.protocol"}},
		{"TLS without TLS", secured.Brokers, slowly, CodeAuth, []string{secured.Brokers[0], "TLS", "SSL"}},
		{"TLS with unknown authority", secured.Brokers, with(slowly, "ssl.ca.pem", newAuthority(t).pem), CodeAuth, []string{secured.Brokers[0], "ssl.ca"}},
		{"TLS", secured.Brokers, with(slowly, "ssl.ca.pem", ca.pem), CodeOK, nil},
		// The fake broker takes the handshake for a length and waits for more.
		{"no TLS with TLS", plain.Brokers, with(quick, "security.protocol", "SSL"), CodeUnreachable, []string{plain.Brokers[0], "TLS"}},
		{"wrong password", protected.Brokers, with(login, "sasl.password", "wrong-password"), CodeAuth, []string{protected.Brokers[0], "login"}},
		{"wrong SCRAM password", protected.Brokers, with(login, "sasl.mechanism", "SCRAM-SHA-256", "sasl.password", "wrong-password"), CodeAuth, []string{protected.Brokers[0], "login"}},
		{"mechanism not offered", protected.Brokers, with(login, "sasl.mechanism", "SCRAM-SHA-512"), CodeAuth, []string{protected.Brokers[0], "sasl.mechanism"}},
		{"no login", protected.Brokers, slowly, CodeAuth, []string{protected.Brokers[0], "SASL_PLAINTEXT"}},
		{"PLAIN", protected.Brokers, login, CodeOK, nil},
		{"SCRAM", protected.Brokers, with(login, "sasl.mechanism", "SCRAM-SHA-256"), CodeOK, nil},
		{"one good of three", []string{closedPort(t), plain.Brokers[0], silent}, slowly, CodeOK, nil},
		{"all are named", []string{closedPort(t), http}, slowly, CodeUnreachable, []string{"no connection", http, ";"}},
		{"the furthest decides", append([]string{closedPort(t)}, protected.Brokers...), with(login, "sasl.password", "wrong-password"), CodeAuth, []string{"no connection", protected.Brokers[0]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := check(t, Config{Brokers: c.brokers, Topic: "orders", Group: "shop", Options: c.options})
			if c.code == CodeOK {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e := wantError(t, err, c.code, c.texts...)
			if strings.Contains(e.Text, "-password") {
				t.Errorf("a password is in the message: %v", e)
			}
		})
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	config := testConfig(nil)
	config.Brokers = []string{silent}
	if err := Check(ctx, mustParse(t, config)); err == nil {
		t.Error("success without a broker")
	}
	waits := Config{Topic: "orders", Group: "shop", Brokers: []string{silent}, Options: map[string]string{"sasl.mechanism": "OAUTHBEARER"}}
	waits.TokenSource = func(ctx context.Context) (Token, error) {
		<-ctx.Done()
		return Token{}, ctx.Err()
	}
	wantError(t, Check(ctx, mustParse(t, waits)), CodeAuth, "the token callback", "cancel")
}

func TestTopicsMustExist(t *testing.T) {
	_, config := startCluster(t)
	config.Topic = "missing"
	wantError(t, check(t, config), CodeTopic, `topic "missing"`, "does not exist")
	config.Topic = "orders"
	config.DeadLetterTopics = []string{"orders-dead", "missing-dead"}
	wantError(t, check(t, config), CodeTopic, `dead-letter topic "missing-dead"`, "does not exist")
}

func TestAMissingTopicIsCreatedWhenAllowed(t *testing.T) {
	cluster, config := startCluster(t, kfake.AllowAutoTopicCreation())
	config.Topic = "new"
	wantError(t, check(t, config), CodeTopic, "new")
	config.Options = map[string]string{"allow.auto.create.topics": "true"}
	config.DeadLetterTopics = []string{"new-dead"}
	wantError(t, check(t, config), CodeTopic, `dead-letter topic "new-dead"`)
	if cluster.TopicInfo("new") == nil || cluster.TopicInfo("new-dead") != nil {
		t.Error("the topic was not created, or the dead-letter topic was")
	}
	config.DeadLetterTopics = nil
	if err := check(t, config); err != nil {
		t.Error(err)
	}
}

func TestATopicThatTheBrokerWillNotCreate(t *testing.T) {
	_, config := startCluster(t)
	config.Topic = "new"
	config.Options = map[string]string{"allow.auto.create.topics": "true"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	wantError(t, Check(ctx, mustParse(t, config)), CodeTopic, `topic "new"`, "does not exist", "auto.create.topics.enable")
}

func TestWithoutResetAMissingCommitIsAnError(t *testing.T) {
	_, config := startCluster(t)
	s := mustParse(t, config)
	s.OffsetReset = ResetNone
	client, err := NewConsumer(s)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err == nil || ctx.Err() != nil {
		t.Errorf("no error for partitions without a commit: %v", err)
	}
}

func TestRightsAreChecked(t *testing.T) {
	allow := func(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
	}
	topic, group := kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup
	read, write, describe := kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe
	users := map[string][]kfake.ACL{
		"all":       {allow(topic, "orders", read), allow(topic, "orders-dead", write), allow(group, "shop", read)},
		"sees":      {allow(topic, "orders", describe), allow(group, "shop", read)},
		"blind":     {allow(group, "shop", read)},
		"readsdead": {allow(topic, "orders", read), allow(topic, "orders-dead", read), allow(group, "shop", read)},
		"seesgroup": {allow(topic, "orders", read), allow(topic, "orders-dead", write), allow(group, "shop", describe)},
		"nogroup":   {allow(topic, "orders", read), allow(topic, "orders-dead", write)},
	}
	opts := []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "secret")}
	for user, acls := range users {
		opts = append(opts, kfake.User("PLAIN", user, "secret", acls...))
	}
	_, config := startCluster(t, opts...)
	config.DeadLetterTopics = []string{"orders-dead"}
	for user, want := range map[string]struct {
		code  int32
		texts []string
	}{
		"all":       {CodeOK, nil},
		"sees":      {CodeTopic, []string{`topic "orders"`, "read"}},
		"blind":     {CodeTopic, []string{`topic "orders"`}},
		"readsdead": {CodeTopic, []string{`dead-letter topic "orders-dead"`, "write"}},
		"seesgroup": {CodeGroup, []string{`group "shop"`, "may not use"}},
		"nogroup":   {CodeGroup, []string{`group "shop"`, "may not use"}},
	} {
		for _, protocol := range []string{"classic", "consumer"} {
			t.Run(user+" "+protocol, func(t *testing.T) {
				config := config
				config.Options = map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": "secret", "group.protocol": protocol}
				err := check(t, config)
				if want.code != CodeOK {
					wantError(t, err, want.code, want.texts...)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// join makes a member of a group and returns when the group is stable.
func join(t *testing.T, cluster *kfake.Cluster, config Config, opts ...kgo.Opt) {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(config.Brokers...), kgo.ConsumerGroup(config.Group), kgo.ConsumeTopics("orders")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := cluster.WaitGroupStable(ctx, config.Group, 1); err != nil {
		t.Fatal(err)
	}
}

func TestGroupsTakenByOthers(t *testing.T) {
	t.Run("assignor", func(t *testing.T) {
		cluster, config := startCluster(t)
		join(t, cluster, config, kgo.Balancers(kgo.RangeBalancer()))
		wantError(t, check(t, config), CodeGroup, `group "shop"`, "cooperative-sticky", "partition.assignment.strategy")
		config.Options = map[string]string{"partition.assignment.strategy": "cooperative-sticky,range"}
		if err := check(t, config); err != nil {
			t.Error(err)
		}
	})
	t.Run("protocol type", func(t *testing.T) {
		cluster, config := startCluster(t)
		join(t, cluster, config, kgo.GroupProtocol("connect"))
		wantError(t, check(t, config), CodeGroup, `group "shop"`, "taken", "connect")
		config.Options = map[string]string{"group.protocol": "consumer"}
		wantError(t, check(t, config), CodeGroup, `group "shop"`, "taken", "connect")
	})
	t.Run("share group", func(t *testing.T) {
		_, config := startCluster(t)
		member, err := kgo.NewClient(kgo.SeedBrokers(config.Brokers...), kgo.ShareGroup("shop"), kgo.ConsumeTopics("orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer member.Close()
		waitForShareGroup(t, member)
		wantError(t, check(t, config), CodeGroup, `group "shop"`, "share group")
	})
	t.Run("own kind", func(t *testing.T) {
		cluster, config := startCluster(t)
		join(t, cluster, config, kgo.Balancers(kgo.CooperativeStickyBalancer()))
		if err := check(t, config); err != nil {
			t.Error(err)
		}
		if info := cluster.GroupInfo("shop"); info == nil || len(info.Members) != 1 {
			t.Errorf("the check disturbed the group: %+v", info)
		}
	})
}

// waitForShareGroup polls until the coordinator describes the group.
func waitForShareGroup(t *testing.T, client *kgo.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		request := kmsg.NewPtrShareGroupDescribeRequest()
		request.GroupIDs = []string{"shop"}
		answer, err := request.RequestWith(ctx, client)
		if err == nil && len(answer.Groups) == 1 && answer.Groups[0].ErrorCode == 0 && len(answer.Groups[0].Members) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no share group: %v, %v", answer, err)
		case <-ticker.C:
		}
	}
}

func TestSessionTimeoutOutsideOfTheBrokersBounds(t *testing.T) {
	_, config := startCluster(t, kfake.GroupMaxSessionTimeout(10*time.Second))
	wantError(t, check(t, config), CodeGroup, `group "shop"`, "session.timeout.ms")
}

func TestACoordinatorMayTakeItsTime(t *testing.T) {
	cluster, config := startCluster(t)
	refusals := 0
	cluster.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if refusals++; refusals > 3 {
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.ErrorCode = "shop", kerr.CoordinatorLoadInProgress.Code
		answer.Groups = append(answer.Groups, g)
		return answer, nil, true
	})
	if err := check(t, config); err != nil {
		t.Errorf("after %d refusals: %v", refusals, err)
	}
}

func TestConsumerProtocolNeedsAClusterThatOffersIt(t *testing.T) {
	cluster, config := startCluster(t)
	config.Options = map[string]string{"group.protocol": "consumer"}
	cluster.ControlKey(int16(kmsg.ConsumerGroupHeartbeat), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		answer.ErrorCode = kerr.UnsupportedVersion.Code
		return answer, nil, true
	})
	wantError(t, check(t, config), CodeGroup, `group "shop"`, "KIP-848", "group.protocol=classic")
}

func TestForeignProtocolsAreTold(t *testing.T) {
	l := newAnswerLog()
	for head, want := range map[string]string{
		"": "", "HTTP/1.1": "HTTP", "SSH-2.0-": "SSH", "\x15\x03\x03\x00\x02\x02\x46": "TLS", "ab": "something other than Kafka",
		"\x00\x00\x01\x00\x00\x00\x00\x00": "", "\x00\x00\x00\x00\x00\x00\x00\x00": "something other than Kafka",
		"\x7f\xff\xff\xff": "something other than Kafka",
	} {
		server, client := net.Pipe()
		watched := l.wrap(client, "a:1")
		go func() {
			_, _ = io.WriteString(server, head)
			_ = server.Close()
		}()
		if _, err := io.ReadAll(watched); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if got := l.foreign("a:1", true); got != want {
			t.Errorf("%q: %q instead of %q", head, got, want)
		}
	}
	if got := l.foreign("b:1", true); got != "" {
		t.Errorf("an address without connection: %q", got)
	}
}

func TestServerNameOfTheConfigurationIsKept(t *testing.T) {
	d := &dialer{timeout: time.Second, tls: &tls.Config{}}
	server, client := net.Pipe()
	defer server.Close()
	if _, err := d.handshake(t.Context(), client, "no-port", time.Now().Add(time.Second)); err == nil {
		t.Error("an address without port was accepted")
	}
}

func TestSoftwareVersionIsThatOfTheCrate(t *testing.T) {
	manifest, err := os.ReadFile("../../../Cargo.toml")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^version = "([^"]+)"`).FindSubmatch(manifest)
	if version == nil || string(version[1]) != softwareVersion {
		t.Errorf("the crate has version %s, brokers are told %s", version, softwareVersion)
	}
}
