/*
 * llingr.h: the contract between the Go engine (libllingr) and its host.
 *
 * This file is the one authored description of the boundary. The Go side
 * includes it; the Rust side uses bindings generated from it
 * (src/engine/sys.rs, checked against this file by a test).
 *
 * VERSION. LLINGR_ABI_VERSION changes with every change of this file that a
 * compiled caller could notice. The host compares it with
 * llingr_abi_version() before it calls anything else.
 *
 * OWNERSHIP. A pointer argument is borrowed for the duration of the call and
 * never kept, with two exceptions: a block (see block_acquire) moves from the
 * host to the engine and back, and a llingr_buffer filled by a callee belongs
 * to the caller, who returns it with the matching free function.
 * What an input points to is not modified; exports lack the `const` because
 * cgo cannot write it, and so the compiler can compare both declarations.
 * A null pointer is valid where the length is 0. Strings are UTF-8, carry an
 * explicit length and no terminator.
 *
 * ONE ENGINE. A process holds at most one engine between a successful
 * llingr_engine_new and llingr_engine_free. Functions other than
 * llingr_engine_new answer LLINGR_ERR_NO_ENGINE without one.
 *
 * THREADS. Exports may be called from any thread, but a host should use one
 * long-lived thread for them: a thread that entered Go must not exit while
 * the process goes on to receive signals. No export blocks for longer than
 * its comment says. Host functions are called from threads of the Go runtime,
 * several at once, and must not call exports.
 *
 * PANICS. Neither side lets an unwinding cross: an export that panics returns
 * LLINGR_ERR_PANIC, a host function that panics returns LLINGR_HOST_PANIC
 * (or nothing, where it returns void).
 *
 * ERRORS. Functions return 0 or a negative code. Codes are never reused. The
 * text belongs to the call that failed and is written to its llingr_error.
 */
#ifndef LLINGR_H
#define LLINGR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLINGR_ABI_VERSION 1

/* Result codes. Last added: -13. */
#define LLINGR_OK 0
#define LLINGR_ERR_ABI (-1)         /* struct_size of llingr_host unknown */
#define LLINGR_ERR_ALREADY (-2)     /* an engine exists in this process */
#define LLINGR_ERR_NO_ENGINE (-3)   /* no engine exists */
#define LLINGR_ERR_CONFIG (-4)      /* configuration refused; text names the key */
#define LLINGR_ERR_UNREACHABLE (-5) /* no broker could be reached */
#define LLINGR_ERR_AUTH (-6)        /* TLS or SASL refused, or credentials unavailable */
#define LLINGR_ERR_TOPIC (-7)       /* topic missing or not permitted */
#define LLINGR_ERR_GROUP (-8)       /* group taken by another protocol or not permitted */
#define LLINGR_ERR_STATE (-9)       /* not possible in the engine's present state */
#define LLINGR_ERR_ARGUMENT (-10)   /* an argument of this call is invalid */
#define LLINGR_ERR_PANIC (-11)      /* a panic was caught inside the engine */
#define LLINGR_ERR_UNSUPPORTED (-12) /* not compiled in (dev broker) */
#define LLINGR_ERR_BROKER (-13)     /* the broker answered with another error */

/* A host function that failed returns one of these. */
#define LLINGR_HOST_PANIC (-100)
#define LLINGR_HOST_ERR (-101)

/* Error text of one call. The callee writes at most sizeof text bytes, cut at
 * a character's boundary, and sets len; text is not terminated. */
typedef struct llingr_error {
  uint32_t len;
  char text[2044];
} llingr_error;

/* Bytes owned by the callee's allocator. Exports fill it with memory that
 * llingr_buffer_free releases; host functions with memory that
 * llingr_host.buffer_free releases. */
typedef struct llingr_buffer {
  uint8_t *ptr;
  size_t len;
} llingr_buffer;

/*
 * One record inside a block: this header, then the key, the value and the
 * record headers, each without padding. A block is a sequence of records, each
 * starting at a multiple of 8 bytes from the block's start.
 *
 * A record header is: u32 name length, i32 value length (-1 = null), name,
 * value; native byte order, no alignment.
 */
typedef struct llingr_record {
  uint32_t size;         /* from this header to the next record's, a multiple of 8 */
  int32_t key_len;       /* -1 = null */
  int32_t value_len;     /* -1 = null */
  uint32_t header_count;
  int64_t offset;
  int64_t timestamp_ms;
  uint32_t timestamp_kind; /* LLINGR_TIMESTAMP_* */
  uint32_t reserved;     /* 0 */
} llingr_record;

#define LLINGR_TIMESTAMP_NONE 0
#define LLINGR_TIMESTAMP_CREATE 1
#define LLINGR_TIMESTAMP_LOG_APPEND 2

/* What the host reports to the engine, in batches, from llingr_host.events. */
typedef struct llingr_event {
  uint32_t kind;       /* LLINGR_EVENT_* */
  uint32_t assignment; /* id given to llingr_host.assigned */
  uint64_t first;      /* DONE: sequence number of the first record; PRODUCE: token */
  uint64_t count;      /* DONE: number of consecutive records; PRODUCE: length of data */
  uint64_t bytes;      /* DONE: sum of llingr_record.size of these records */
  const uint8_t *data; /* PRODUCE, FATAL: borrowed until the next call of events */
} llingr_event;

#define LLINGR_EVENT_DONE 1    /* records ended: processed or dead-lettered */
#define LLINGR_EVENT_PRODUCE 2 /* produce this record to the dead-letter topic of index `assignment`; answer with llingr_host.produced */
#define LLINGR_EVENT_FATAL 3   /* emergency stop; data/count = reason */

/* Log levels of llingr_host.log. */
#define LLINGR_LOG_ERROR 1
#define LLINGR_LOG_WARN 2
#define LLINGR_LOG_INFO 3
#define LLINGR_LOG_DEBUG 4

/*
 * The host's functions. `ctx` is passed back unchanged as first argument. All
 * pointers must be set (except oauth_token, which may be null) and stay valid
 * until llingr_engine_free has returned.
 */
typedef struct llingr_host {
  size_t struct_size; /* sizeof(llingr_host) */
  void *ctx;

  /* A partition was assigned. `assignment` is unique in the engine's life and
   * identifies this partition in this assignment (its epoch). */
  int32_t (*assigned)(void *ctx, uint32_t assignment, int32_t partition);

  /* Hands out a block with room for at least min_len bytes, or null when out
   * of memory; *capacity receives its true size. The engine owns it until it
   * gives it to submit or block_release. */
  uint8_t *(*block_acquire)(void *ctx, size_t min_len, size_t *capacity);
  void (*block_release)(void *ctx, uint8_t *block, size_t capacity);

  /* Takes over a block that holds `count` records (`len` bytes) of one
   * assignment, with consecutive sequence numbers from first_seq. Never
   * blocks. On error the block stays with the engine. */
  int32_t (*submit)(void *ctx, uint32_t assignment, uint64_t first_seq,
                    uint8_t *block, size_t len, size_t capacity,
                    uint32_t count);

  /* Waits for events, at most wait_us microseconds, and writes up to `max`.
   * Returns their number, or LLINGR_HOST_*. `urgent` asks not to gather: return
   * as soon as one event is there. */
  int32_t (*events)(void *ctx, llingr_event *out, uint32_t max, int64_t wait_us,
                    int32_t urgent);

  /* No record of this assignment starts after revoke has returned. */
  int32_t (*revoke)(void *ctx, uint32_t assignment);

  /* Waits, at most wait_us, until no handler of this assignment runs and its
   * ended records were handed out by events or are ready to be. Returns the
   * number of handlers still running, or LLINGR_HOST_*. Call after revoke. */
  int32_t (*drained)(void *ctx, uint32_t assignment, int64_t wait_us);

  /* Forgets the assignment: drops its records, ignores its later results. */
  int32_t (*released)(void *ctx, uint32_t assignment);

  /* Stops and resumes the start of records: of all (assignment 0) or of one. */
  int32_t (*pause)(void *ctx, uint32_t assignment, int32_t paused);

  /* Result of a LLINGR_EVENT_PRODUCE: code 0, or an error and its text. */
  void (*produced)(void *ctx, uint64_t token, int32_t code, const uint8_t *text,
                   size_t len);

  /* A log line. */
  void (*log)(void *ctx, int32_t level, const uint8_t *text, size_t len);

  /* The engine's state changed; one of LLINGR_STATE_*, text is the cause. */
  void (*state)(void *ctx, int32_t state, const uint8_t *text, size_t len);

  /* The engine has ended; called exactly once after llingr_engine_start
   * succeeded. code 0 = graceful. No record is handed out afterwards. */
  void (*ended)(void *ctx, int32_t code, const uint8_t *reason, size_t len);

  /* Asks for an OAUTHBEARER token, as JSON {"token": "...", "extensions":
   * {...}}. May block up to 20 seconds. 0, or LLINGR_HOST_ERR with the error's
   * text in the buffer. Null when the host has no token callback. */
  int32_t (*oauth_token)(void *ctx, llingr_buffer *out);
  void (*buffer_free)(void *ctx, llingr_buffer *buffer);
} llingr_host;

/* States. */
#define LLINGR_STATE_BUILT 0
#define LLINGR_STATE_JOINING 1  /* started, no assignment yet */
#define LLINGR_STATE_RUNNING 2  /* member of the group, assignment known */
#define LLINGR_STATE_PAUSED 3
#define LLINGR_STATE_DRAINING 4 /* stop was asked for */
#define LLINGR_STATE_STOPPED 5  /* ended as asked */
#define LLINGR_STATE_FAILED 6   /* ended by an error */

/* The version this archive was built with. Never fails. */
uint32_t llingr_abi_version(void);

/* Creates the engine from JSON (docs/boundary.md lists the fields): parses,
 * connects, logs in, checks topic, group and dead-letter topics. Blocks up to
 * the configured connection set-up times, 60 s at most. `host` is copied. On
 * error no engine exists and the call may be repeated. */
int32_t llingr_engine_new(llingr_host *host, uint8_t *config, size_t config_len,
                          llingr_error *error);

/* Joins the group and starts consuming; returns at once. llingr_host.ended
 * reports the end. */
int32_t llingr_engine_start(llingr_error *error);

/* Asks for a graceful stop: drain, commit, leave. Returns at once; repeated
 * calls are harmless. Before llingr_engine_start it makes start fail with
 * LLINGR_ERR_STATE. */
int32_t llingr_engine_stop(void);

/* Ends at once: nothing waits, nothing commits. Returns at once. */
int32_t llingr_engine_emergency_stop(uint8_t *reason, size_t len);

/* Pauses (paused != 0) or resumes fetching and handing out; partition -1 means
 * all. A pause outlives a rebalance only when it is of all partitions. */
int32_t llingr_engine_pause(int32_t partition, int32_t paused,
                            llingr_error *error);

/* Writes the engine's status as JSON into *out (docs/boundary.md). */
int32_t llingr_engine_status(llingr_buffer *out, llingr_error *error);

/* Releases the engine after `ended`, or one that was never started. Waits up
 * to 5 s for the engine's goroutines to leave the host's functions; returns
 * LLINGR_ERR_STATE (and keeps the engine) while it is running. */
int32_t llingr_engine_free(llingr_error *error);

/* Releases a buffer filled by an export; null is allowed. */
void llingr_buffer_free(llingr_buffer *buffer);

/* The embedded broker (build feature dev-broker). Start reads JSON
 * {"topics": [{"name", "partitions"}], "seed": ...} and answers JSON
 * {"bootstrap": "127.0.0.1:port"}; produce reads JSON records. */
int32_t llingr_devbroker_start(uint8_t *config, size_t len,
                               llingr_buffer *out, llingr_error *error);
int32_t llingr_devbroker_produce(uint8_t *records, size_t len,
                                 llingr_error *error);
int32_t llingr_devbroker_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* LLINGR_H */
