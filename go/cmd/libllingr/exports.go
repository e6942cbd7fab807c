package main

/*
#include <stdlib.h>
#include "llingr.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/llingr/llingr-kafka/go/internal/devbroker"
	"github.com/llingr/llingr-kafka/go/internal/engine"
	"github.com/llingr/llingr-kafka/go/internal/service"
)

// inputMax bounds what an export reads: larger input is a mistake.
const inputMax = 64 << 20

// How long a host function may take (oauth_token, the slowest, may take 20 s),
// and how long llingr_engine_free waits for one.
const (
	hostCallMax = 25 * time.Second
	freeWait    = 5 * time.Second
)

var (
	mu      sync.Mutex // of the two below
	current *service.Service
	host    *cHost
)

// guarded runs an export's body: a panic becomes LLINGR_ERR_PANIC and an error
// its code, with the text in e.
func guarded(e *C.llingr_error, body func() error) (code C.int32_t) {
	if e != nil {
		e.len = 0
	}
	defer func() {
		if p := recover(); p != nil {
			setError(e, fmt.Sprintf("panic inside the engine: %v", p))
			code = C.LLINGR_ERR_PANIC
		}
	}()
	err := body()
	if err == nil {
		return C.LLINGR_OK
	}
	setError(e, err.Error())
	return C.int32_t(service.Code(err))
}

// setError writes text, cut at a character's boundary.
func setError(e *C.llingr_error, text string) {
	if e == nil {
		return
	}
	room := unsafe.Slice((*byte)(unsafe.Pointer(&e.text[0])), len(e.text))
	n := min(len(text), len(room))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	copy(room, text[:n])
	e.len = C.uint32_t(n)
}

// input copies an argument's bytes.
func input(p *C.uint8_t, n C.size_t) ([]byte, error) {
	if n > inputMax {
		return nil, service.Errorf(service.CodeArgument, "the argument has %d bytes, at most %d are read", uint64(n), inputMax)
	}
	if n == 0 {
		return nil, nil
	}
	if p == nil {
		return nil, service.Errorf(service.CodeArgument, "the argument is null, but its length is %d", uint64(n))
	}
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n))...), nil
}

// output hands bytes to the caller, who frees them with llingr_buffer_free.
func output(out *C.llingr_buffer, b []byte) error {
	if out == nil {
		return service.Errorf(service.CodeArgument, "the output buffer is null")
	}
	out.ptr = (*C.uint8_t)(C.CBytes(b))
	out.len = C.size_t(len(b))
	return nil
}

func active() (*service.Service, error) {
	mu.Lock()
	defer mu.Unlock()
	if current == nil {
		return nil, service.Errorf(service.CodeNoEngine, "no engine exists in this process")
	}
	return current, nil
}

//export llingr_abi_version
func llingr_abi_version() C.uint32_t { return C.LLINGR_ABI_VERSION }

//export llingr_engine_new
func llingr_engine_new(h *C.llingr_host, config *C.uint8_t, n C.size_t, e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		mu.Lock()
		defer mu.Unlock()
		if current != nil {
			return service.Errorf(service.CodeAlready, "an engine exists in this process already; end it and drop its handle before building the next")
		}
		text, err := input(config, n)
		if err != nil {
			return err
		}
		ch, err := newHost(h)
		if err != nil {
			return service.Errorf(service.CodeABI, "%v", err)
		}
		s, err := service.New(text, ch)
		if err != nil {
			// The host takes its functions back when this returns, so there is
			// no end to the wait for a token callback that is still inside.
			for ch.free() != nil {
			}
			return err
		}
		current, host = s, ch
		return nil
	})
}

//export llingr_engine_start
func llingr_engine_start(e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		s, err := active()
		if err != nil {
			return err
		}
		return s.Start()
	})
}

//export llingr_engine_stop
func llingr_engine_stop() C.int32_t {
	return guarded(nil, func() error {
		s, err := active()
		if err != nil {
			return err
		}
		s.Stop()
		return nil
	})
}

//export llingr_engine_emergency_stop
func llingr_engine_emergency_stop(reason *C.uint8_t, n C.size_t) C.int32_t {
	return guarded(nil, func() error {
		text, err := input(reason, n)
		if err != nil {
			return err
		}
		s, err := active()
		if err != nil {
			return err
		}
		s.Emergency(string(text))
		return nil
	})
}

//export llingr_engine_pause
func llingr_engine_pause(partition C.int32_t, paused C.int32_t, e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		s, err := active()
		if err != nil {
			return err
		}
		return s.Pause(int32(partition), paused != 0)
	})
}

//export llingr_engine_status
func llingr_engine_status(out *C.llingr_buffer, e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		s, err := active()
		if err != nil {
			return err
		}
		b, err := s.Status()
		if err != nil {
			return err
		}
		return output(out, b)
	})
}

//export llingr_engine_free
func llingr_engine_free(e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		mu.Lock()
		defer mu.Unlock()
		if current == nil {
			return service.Errorf(service.CodeNoEngine, "no engine exists in this process")
		}
		if err := current.Free(); err != nil {
			return err
		}
		if err := host.free(); err != nil {
			return service.Errorf(service.CodeState, "%v", err)
		}
		current, host = nil, nil
		return nil
	})
}

//export llingr_buffer_free
func llingr_buffer_free(b *C.llingr_buffer) {
	guarded(nil, func() error {
		if b != nil && b.ptr != nil {
			C.free(unsafe.Pointer(b.ptr))
			b.ptr, b.len = nil, 0
		}
		return nil
	})
}

//export llingr_devbroker_start
func llingr_devbroker_start(config *C.uint8_t, n C.size_t, out *C.llingr_buffer, e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		text, err := input(config, n)
		if err != nil {
			return err
		}
		answer, err := devbroker.Start(text)
		if err != nil {
			return service.DevBrokerError(err)
		}
		return output(out, answer)
	})
}

//export llingr_devbroker_produce
func llingr_devbroker_produce(records *C.uint8_t, n C.size_t, e *C.llingr_error) C.int32_t {
	return guarded(e, func() error {
		text, err := input(records, n)
		if err != nil {
			return err
		}
		return service.DevBrokerError(devbroker.Produce(text))
	})
}

//export llingr_devbroker_stop
func llingr_devbroker_stop() C.int32_t {
	return guarded(nil, func() error { return service.DevBrokerError(devbroker.Stop()) })
}

var _ engine.Host = (*cHost)(nil)
