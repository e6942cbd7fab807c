//go:build !devbroker

package devbroker

// Start answers ErrNotCompiled.
func Start([]byte) ([]byte, error) { return nil, ErrNotCompiled }

// Produce answers ErrNotCompiled.
func Produce([]byte) error { return ErrNotCompiled }

// Stop answers ErrNotCompiled.
func Stop() error { return ErrNotCompiled }
