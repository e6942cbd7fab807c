package kafka

import (
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchPools let the client use again what a fetch is decoded into: records
// are copied out at once, so nothing of a fetch lives longer than its poll.
// Without them half of the client's work would be to allocate and collect.
type fetchPools struct {
	records [poolClasses]sync.Pool // *[]kgo.Record, by the power of two of the capacity
	bytes   [poolClasses]sync.Pool // *[]byte, likewise
}

// poolClasses covers capacities up to 2^26; larger ones are not kept.
const poolClasses = 27

var (
	_ kgo.PoolRecords         = (*fetchPools)(nil)
	_ kgo.PoolDecompressBytes = (*fetchPools)(nil)
)

// poolClass is the smallest class whose slices hold n.
func poolClass(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// GetRecords implements kgo.PoolRecords.
func (p *fetchPools) GetRecords(n int) []kgo.Record {
	class := poolClass(n)
	if class >= poolClasses {
		return make([]kgo.Record, 0, n)
	}
	if kept, ok := p.records[class].Get().(*[]kgo.Record); ok {
		return (*kept)[:0]
	}
	return make([]kgo.Record, 0, 1<<class)
}

// PutRecords implements kgo.PoolRecords; the client has zeroed the records.
func (p *fetchPools) PutRecords(records []kgo.Record) {
	if class := keptClass(cap(records)); class >= 0 {
		p.records[class].Put(&records)
	}
}

// decompressedRatio is how much larger decompressed data is expected to be.
const decompressedRatio = 4

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (p *fetchPools) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	class := poolClass(decompressedRatio * len(compressed))
	if class >= poolClasses {
		return nil
	}
	if kept, ok := p.bytes[class].Get().(*[]byte); ok {
		return (*kept)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (p *fetchPools) PutDecompressBytes(b []byte) {
	if class := keptClass(cap(b)); class >= 0 {
		p.bytes[class].Put(&b)
	}
}

// keptClass is the class that a slice of this capacity can serve, or -1.
func keptClass(capacity int) int {
	class := bits.Len(uint(capacity)) - 1
	if class >= poolClasses {
		return -1
	}
	return class
}
