package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of dead letters that wait for the broker. The count exceeds the most
// records that the engine runs at once, each of which may be dying.
const (
	maxDeadLetterRecords = 131072
	maxDeadLetterBytes   = 256 << 20
	// What the client buffers of them; the rest waits in the queue here.
	clientBufferRecords = 10000
	clientBufferBytes   = 32 << 20
	// A batch may be as large as its topic permits; this is what counts when
	// the topic's configuration cannot be read, and the most that is believed.
	defaultDeadLetterBatch = 1000012
	minDeadLetterBatch     = 512
	maxDeadLetterBatch     = 64 << 20
	batchLimitTimeout      = 5 * time.Second
	// deliveryTimeout is how long a record may wait in the client; the time in
	// the queue here is bounded by the same.
	deliveryTimeout = 30 * time.Second
	// bookkeepingBytes is what a waiting record costs beside its content.
	bookkeepingBytes = 256
)

// ErrDeadLettersClosed is given to records that Close overtook.
var ErrDeadLettersClosed = errors.New("the dead-letter producer is closed")

// Header is a record header; a nil Value is Kafka's null, an empty one is not.
type Header struct {
	Name  string
	Value []byte
}

// DeadLetter is a complete record for a dead-letter topic. A nil Key or Value
// is Kafka's null, a zero Timestamp the time of producing. The producer keeps
// the slices until done was called.
type DeadLetter struct {
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp time.Time
}

func (d *DeadLetter) size() int {
	n := len(d.Key) + len(d.Value) + bookkeepingBytes
	for _, h := range d.Headers {
		n += len(h.Name) + len(h.Value) + 16
	}
	return n
}

// DeadLetters produces to the dead-letter topics: idempotent, acknowledged by
// all replicas in sync, with bounds on count, bytes and time. It has a client
// of its own, so that a paused or blocked consumer does not hold it up; the
// client is created with the first record.
type DeadLetters struct {
	settings *Settings
	extra    []kgo.Opt
	timeout  time.Duration

	mu      sync.Mutex
	client  *kgo.Client // nil until the first record
	closed  bool
	waiting []waitingLetter // in order of arrival; the pump takes from the front
	records int             // handed in and not done
	bytes   int
	wake    chan struct{} // 1 = the pump has something to look at
	pumping chan struct{} // closed when the pump has ended; nil without one

	// batchLimits holds the max.message.bytes of the topics; set once, by the
	// pump, before it produces to any.
	batchLimits atomic.Pointer[map[string]int32]
}

type waitingLetter struct {
	record  *kgo.Record
	size    int
	expires time.Time
	done    func(error)
}

// NewDeadLetters prepares a producer for s.DeadLetterTopics. It connects to
// nothing yet. extra options come last and win.
func NewDeadLetters(s *Settings, extra ...kgo.Opt) *DeadLetters {
	return &DeadLetters{settings: s, extra: extra, timeout: deliveryTimeout, wake: make(chan struct{}, 1)}
}

// Produce hands a record over and returns at once. done is called exactly
// once, from another goroutine or from this call, with nil after the broker's
// acknowledgement, or with an *Error that names the topic: on a full buffer,
// after about twice the delivery timeout of 30 s, on a refusal, on Close. After
// an error the record may nevertheless be in the topic. done must not block.
func (d *DeadLetters) Produce(topicIndex int, letter DeadLetter, done func(error)) {
	if topicIndex < 0 || topicIndex >= len(d.settings.DeadLetterTopics) {
		done(&Error{Code: CodeArgument, Text: fmt.Sprintf("dead-letter topic %d does not exist: %d are configured", topicIndex, len(d.settings.DeadLetterTopics))})
		return
	}
	topic := d.settings.DeadLetterTopics[topicIndex]
	if err := d.enqueue(topic, letter, done); err != nil {
		done(err)
	}
}

func (d *DeadLetters) enqueue(topic string, letter DeadLetter, done func(error)) error {
	size := letter.size()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return &Error{Code: CodeState, Err: ErrDeadLettersClosed, Text: fmt.Sprintf("dead-letter topic %q: the producer is closed", topic)}
	case d.records >= maxDeadLetterRecords || d.records > 0 && d.bytes+size > maxDeadLetterBytes:
		return &Error{Code: CodeBroker, Err: kgo.ErrMaxBuffered, Text: fmt.Sprintf("dead-letter topic %q: %d records with %d bytes wait for the broker, more are not kept", topic, d.records, d.bytes)}
	}
	if d.client == nil {
		client, err := newClient(append(append(d.settings.clientOpts(nil), d.producerOpts()...), d.extra...))
		if err != nil {
			return err
		}
		d.client = client
		d.pumping = make(chan struct{})
		go d.pump(client, d.pumping)
	}
	d.records++
	d.bytes += size
	d.waiting = append(d.waiting, waitingLetter{
		record: recordOf(topic, letter), size: size, expires: time.Now().Add(d.timeout), done: done,
	})
	d.notify()
	return nil
}

func (d *DeadLetters) producerOpts() []kgo.Opt {
	return []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxBufferedRecords(clientBufferRecords),
		kgo.MaxBufferedBytes(max(clientBufferBytes, maxDeadLetterBatch)),
		kgo.ProducerBatchMaxBytesFn(d.batchLimit),
		kgo.BrokerMaxWriteBytes(2 * maxDeadLetterBatch),
		// The dead-letter handler waits for the outcome. A record that the
		// broker may or may not have is better failed, and perhaps twice in the
		// topic, than awaited for ever.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.DisableClientMetrics(),
	}
}

// batchLimit is the largest batch that a topic takes. Too small a limit would
// refuse large records, too large a one would gather batches that the broker
// refuses.
func (d *DeadLetters) batchLimit(topic string) int32 {
	if limits := d.batchLimits.Load(); limits != nil {
		if limit, ok := (*limits)[topic]; ok {
			return limit
		}
	}
	return defaultDeadLetterBatch
}

// loadBatchLimits asks for the topics' max.message.bytes. The right to read
// configurations is not required: without it Kafka's own default applies.
func (d *DeadLetters) loadBatchLimits(client *kgo.Client) {
	ctx, cancel := context.WithTimeout(client.Context(), batchLimitTimeout)
	defer cancel()
	request := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range d.settings.DeadLetterTopics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType = kmsg.ConfigResourceTypeTopic
		r.ResourceName = topic
		r.ConfigNames = []string{"max.message.bytes"}
		request.Resources = append(request.Resources, r)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return
	}
	limits := make(map[string]int32)
	for _, r := range answer.Resources {
		for _, c := range r.Configs {
			if c.Name != "max.message.bytes" || c.Value == nil {
				continue
			}
			if n, err := strconv.ParseInt(*c.Value, 10, 64); err == nil {
				limits[r.ResourceName] = int32(min(max(n, minDeadLetterBatch), maxDeadLetterBatch))
			}
		}
	}
	d.batchLimits.Store(&limits)
}

func recordOf(topic string, letter DeadLetter) *kgo.Record {
	record := &kgo.Record{Topic: topic, Key: letter.Key, Value: letter.Value, Timestamp: letter.Timestamp}
	if len(letter.Headers) > 0 {
		record.Headers = make([]kgo.RecordHeader, len(letter.Headers))
		for i, h := range letter.Headers {
			record.Headers[i] = kgo.RecordHeader{Key: h.Name, Value: h.Value}
		}
	}
	return record
}

// notify wakes the pump; one pending wake-up covers any number of records.
func (d *DeadLetters) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// pump moves records from the queue into the client, which makes it wait when
// its own buffer is full: so the callers of Produce never do. It ends when the
// producer is closed and the queue is empty.
func (d *DeadLetters) pump(client *kgo.Client, ended chan<- struct{}) {
	defer close(ended)
	d.loadBatchLimits(client)
	for {
		letter, state := d.next()
		switch state {
		case pumpEnd:
			return
		case pumpIdle:
			<-d.wake
			continue
		}
		if time.Now().After(letter.expires) {
			d.finish(letter, kgo.ErrRecordTimeout)
			continue
		}
		// Not kgo.RecordDeliveryTimeout: that counts from the record's own
		// timestamp, which may be years old. The wait for room ends with it too.
		ctx, cancel := context.WithTimeout(client.Context(), d.timeout)
		client.Produce(ctx, letter.record, func(_ *kgo.Record, err error) {
			cancel()
			d.finish(letter, err)
		})
	}
}

type pumpState int

const (
	pumpRecord pumpState = iota
	pumpIdle
	pumpEnd
)

func (d *DeadLetters) next() (waitingLetter, pumpState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		d.waiting = nil // gives a long queue's memory back
		if d.closed {
			return waitingLetter{}, pumpEnd
		}
		return waitingLetter{}, pumpIdle
	}
	letter := d.waiting[0]
	d.waiting[0] = waitingLetter{}
	d.waiting = d.waiting[1:]
	return letter, pumpRecord
}

func (d *DeadLetters) finish(letter waitingLetter, err error) {
	d.mu.Lock()
	d.records--
	d.bytes -= letter.size
	d.mu.Unlock()
	if err == nil {
		letter.done(nil)
		return
	}
	letter.done(d.deadLetterError(letter.record.Topic, err))
}

func (d *DeadLetters) deadLetterError(topic string, err error) *Error {
	text := fmt.Sprintf("dead-letter topic %q: ", topic)
	switch {
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnreachable, Err: err, Text: text + fmt.Sprintf("no acknowledgement within %v", d.timeout)}
	case errors.Is(err, kgo.ErrClientClosed), errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrAborting):
		return &Error{Code: CodeState, Err: ErrDeadLettersClosed, Text: text + "the producer was closed before the acknowledgement"}
	case errors.Is(err, kerr.MessageTooLarge):
		return &Error{Code: CodeBroker, Err: err, Text: text + "the record is larger than the topic's max.message.bytes: raise it"}
	}
	code, cause := classify(err)
	return &Error{Code: code, Err: err, Text: text + cause}
}

// Close waits until every record is done or ctx ends, then closes the client;
// records that remain end with an error. Produce fails afterwards. The error
// is that of ctx; repeated calls are harmless.
func (d *DeadLetters) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	client, pumping := d.client, d.pumping
	d.mu.Unlock()
	if client == nil {
		return nil
	}
	d.notify()
	var err error
	select {
	case <-pumping:
		err = client.Flush(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	}
	client.Close()
	// A closed client refuses the pump's remaining records at once.
	<-pumping
	return err
}
