package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../../include
#cgo noescape llingr_call_block_acquire
#cgo nocallback llingr_call_block_acquire
#cgo noescape llingr_call_submit
#cgo nocallback llingr_call_submit
#cgo noescape llingr_call_events
#cgo nocallback llingr_call_events
#include <stdlib.h>
#include "llingr.h"

static int32_t llingr_call_assigned(const llingr_host *h, uint32_t a, int32_t p) {
  return h->assigned(h->ctx, a, p);
}
static uint8_t *llingr_call_block_acquire(const llingr_host *h, size_t min_len, size_t *capacity) {
  return h->block_acquire(h->ctx, min_len, capacity);
}
static void llingr_call_block_release(const llingr_host *h, uint8_t *block, size_t capacity) {
  h->block_release(h->ctx, block, capacity);
}
static int32_t llingr_call_submit(const llingr_host *h, uint32_t a, uint64_t first, uint8_t *block, size_t len, size_t capacity, uint32_t count) {
  return h->submit(h->ctx, a, first, block, len, capacity, count);
}
static int32_t llingr_call_events(const llingr_host *h, llingr_event *out, uint32_t max, int64_t wait_us, int32_t urgent) {
  return h->events(h->ctx, out, max, wait_us, urgent);
}
static int32_t llingr_call_revoke(const llingr_host *h, uint32_t a) {
  return h->revoke(h->ctx, a);
}
static int32_t llingr_call_drained(const llingr_host *h, uint32_t a, int64_t wait_us) {
  return h->drained(h->ctx, a, wait_us);
}
static int32_t llingr_call_released(const llingr_host *h, uint32_t a) {
  return h->released(h->ctx, a);
}
static int32_t llingr_call_pause(const llingr_host *h, uint32_t a, int32_t paused) {
  return h->pause(h->ctx, a, paused);
}
static void llingr_call_produced(const llingr_host *h, uint64_t token, int32_t code, const uint8_t *text, size_t len) {
  h->produced(h->ctx, token, code, text, len);
}
static void llingr_call_log(const llingr_host *h, int32_t level, const uint8_t *text, size_t len) {
  h->log(h->ctx, level, text, len);
}
static void llingr_call_state(const llingr_host *h, int32_t state, const uint8_t *text, size_t len) {
  h->state(h->ctx, state, text, len);
}
static void llingr_call_ended(const llingr_host *h, int32_t code, const uint8_t *text, size_t len) {
  h->ended(h->ctx, code, text, len);
}
static int32_t llingr_call_oauth_token(const llingr_host *h, llingr_buffer *out) {
  return h->oauth_token(h->ctx, out);
}
static void llingr_call_buffer_free(const llingr_host *h, llingr_buffer *b) {
  h->buffer_free(h->ctx, b);
}
static int llingr_host_complete(const llingr_host *h) {
  return h->assigned && h->block_acquire && h->block_release && h->submit &&
         h->events && h->revoke && h->drained && h->released && h->pause &&
         h->produced && h->log && h->state && h->ended && h->buffer_free;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/llingr/llingr-kafka/go/internal/engine"
)

// cHost calls the functions of a llingr_host. The struct is a copy in C
// memory, so that no Go pointer stands where C could keep it.
//
// The Kafka client's goroutines may outlive the engine for a moment and still
// log: each call passes the gate, which closes before the host goes away.
type cHost struct {
	h        *C.llingr_host
	events   *C.llingr_event // array of eventsMax, used by the pump alone
	hasToken bool
	// client guards what goroutines of Kafka clients call: Log, Produced and Token.
	// All other calls come from the engine, which has ended before free.
	client gate
}

// clientTimeout bounds how long free waits for the client's last calls.
const clientTimeout = 5 * time.Second

const eventsMax = 1024

// newHost copies the host's functions, or says what is wrong with them.
func newHost(h *C.llingr_host) (*cHost, error) {
	if h == nil {
		return nil, errors.New("the host structure is null")
	}
	if h.struct_size != C.sizeof_llingr_host {
		return nil, fmt.Errorf("the host structure has %d bytes, this archive (ABI version %d) knows %d", h.struct_size, C.LLINGR_ABI_VERSION, C.sizeof_llingr_host)
	}
	if C.llingr_host_complete(h) == 0 {
		return nil, errors.New("a function of the host structure is null")
	}
	c := (*C.llingr_host)(C.malloc(C.sizeof_llingr_host))
	*c = *h
	events := (*C.llingr_event)(C.calloc(eventsMax, C.sizeof_llingr_event))
	return &cHost{h: c, events: events, hasToken: c.oauth_token != nil}, nil
}

// free releases the copy after the last call of the client's goroutines. On an
// error the host must stay as it is: a call is still inside.
func (h *cHost) free() error {
	if err := h.client.close(clientTimeout); err != nil {
		return err
	}
	C.free(unsafe.Pointer(h.h))
	C.free(unsafe.Pointer(h.events))
	h.h, h.events = nil, nil
	return nil
}

func bytesOf(s string) (*C.uint8_t, C.size_t) {
	return (*C.uint8_t)(unsafe.StringData(s)), C.size_t(len(s))
}

func check(what string, code C.int32_t) error {
	switch {
	case code == C.LLINGR_HOST_PANIC:
		return fmt.Errorf("the host panicked in %s", what)
	case code < 0:
		return fmt.Errorf("the host refused %s (code %d)", what, code)
	}
	return nil
}

func (h *cHost) Assigned(assignment uint32, partition int32) error {
	return check("an assignment", C.llingr_call_assigned(h.h, C.uint32_t(assignment), C.int32_t(partition)))
}

func (h *cHost) AcquireBlock(minLen int) (engine.Block, error) {
	var capacity C.size_t
	p := C.llingr_call_block_acquire(h.h, C.size_t(minLen), &capacity)
	if p == nil {
		return engine.Block{}, fmt.Errorf("the host has no memory for a block of %d bytes", minLen)
	}
	return engine.Block{Data: unsafe.Slice((*byte)(unsafe.Pointer(p)), int(capacity))}, nil
}

func (h *cHost) ReleaseBlock(b engine.Block) {
	C.llingr_call_block_release(h.h, (*C.uint8_t)(unsafe.SliceData(b.Data)), C.size_t(len(b.Data)))
}

func (h *cHost) Submit(assignment uint32, firstSeq uint64, b engine.Block, length int, count uint32) error {
	return check("a block of records", C.llingr_call_submit(h.h, C.uint32_t(assignment), C.uint64_t(firstSeq),
		(*C.uint8_t)(unsafe.SliceData(b.Data)), C.size_t(length), C.size_t(len(b.Data)), C.uint32_t(count)))
}

func (h *cHost) Events(out []engine.Event, wait time.Duration, urgent bool) (int, error) {
	u := C.int32_t(0)
	if urgent {
		u = 1
	}
	n := C.llingr_call_events(h.h, h.events, C.uint32_t(min(len(out), eventsMax)), C.int64_t(wait.Microseconds()), u)
	if n < 0 {
		return 0, check("the wait for events", n)
	}
	for i, ev := range unsafe.Slice(h.events, int(n)) {
		out[i] = engine.Event{
			Kind: engine.EventKind(ev.kind), Assignment: uint32(ev.assignment),
			First: uint64(ev.first), Count: uint64(ev.count), Bytes: uint64(ev.bytes),
		}
		if ev.data != nil {
			out[i].Data = unsafe.Slice((*byte)(unsafe.Pointer(ev.data)), int(ev.count))
		}
	}
	return int(n), nil
}

func (h *cHost) Revoke(assignment uint32) error {
	return check("a revoke", C.llingr_call_revoke(h.h, C.uint32_t(assignment)))
}

func (h *cHost) Drained(assignment uint32, wait time.Duration) (int, error) {
	n := C.llingr_call_drained(h.h, C.uint32_t(assignment), C.int64_t(wait.Microseconds()))
	if n < 0 {
		return 0, check("a drain", n)
	}
	return int(n), nil
}

func (h *cHost) Released(assignment uint32) error {
	return check("a release", C.llingr_call_released(h.h, C.uint32_t(assignment)))
}

func (h *cHost) Pause(assignment uint32, paused bool) error {
	p := C.int32_t(0)
	if paused {
		p = 1
	}
	return check("a pause", C.llingr_call_pause(h.h, C.uint32_t(assignment), p))
}

func (h *cHost) Produced(token uint64, code int32, text string) {
	if !h.client.enter() {
		return
	}
	defer h.client.leave()
	p, n := bytesOf(text)
	C.llingr_call_produced(h.h, C.uint64_t(token), C.int32_t(code), p, n)
}

func (h *cHost) Log(level int, text string) {
	if !h.client.enter() {
		return
	}
	defer h.client.leave()
	p, n := bytesOf(text)
	C.llingr_call_log(h.h, C.int32_t(level), p, n)
}

func (h *cHost) StateChanged(s engine.State, cause string) {
	p, n := bytesOf(cause)
	C.llingr_call_state(h.h, C.int32_t(s), p, n)
}

func (h *cHost) Ended(code int32, reason string) {
	p, n := bytesOf(reason)
	C.llingr_call_ended(h.h, C.int32_t(code), p, n)
}

// HasToken says whether the host can be asked for OAUTHBEARER tokens.
func (h *cHost) HasToken() bool { return h.hasToken }

// Token asks the host for a token, as JSON.
func (h *cHost) Token() ([]byte, error) {
	if !h.hasToken {
		return nil, errors.New("the host has no token callback")
	}
	if !h.client.enter() {
		return nil, errors.New("the engine has ended")
	}
	defer h.client.leave()
	var out C.llingr_buffer
	code := C.llingr_call_oauth_token(h.h, &out)
	text := C.GoBytes(unsafe.Pointer(out.ptr), C.int(out.len))
	if out.ptr != nil {
		C.llingr_call_buffer_free(h.h, &out)
	}
	if code == C.LLINGR_HOST_ERR && len(text) > 0 {
		return nil, errors.New(string(text))
	}
	return text, check("the request for a token", code)
}
