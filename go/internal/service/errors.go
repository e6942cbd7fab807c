package service

import (
	"errors"
	"fmt"

	"github.com/llingr/llingr-kafka/go/internal/devbroker"
	"github.com/llingr/llingr-kafka/go/internal/engine"
)

// Result codes of include/llingr.h that this package gives itself.
const (
	CodeABI         = -1
	CodeAlready     = -2
	CodeNoEngine    = -3
	CodeConfig      = -4
	CodeState       = -9
	CodeArgument    = -10
	CodeUnsupported = -12
	CodeBroker      = -13
)

type coded struct {
	code int32
	err  error
}

func (c *coded) Error() string     { return c.err.Error() }
func (c *coded) Unwrap() error     { return c.err }
func (c *coded) ResultCode() int32 { return c.code }

// Errorf returns an error with a result code.
func Errorf(code int32, format string, args ...any) error {
	return &coded{code, fmt.Errorf(format, args...)}
}

// Code returns the result code of an error.
func Code(err error) int32 {
	var c engine.Coded
	if errors.As(err, &c) {
		return c.ResultCode()
	}
	switch {
	case errors.Is(err, engine.ErrStopped), errors.Is(err, engine.ErrStarted), errors.Is(err, engine.ErrEnded):
		return CodeState
	}
	return CodeArgument
}

// DevBrokerError gives the embedded broker's errors their codes.
func DevBrokerError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, devbroker.ErrNotCompiled) {
		return &coded{CodeUnsupported, err}
	}
	return &coded{CodeBroker, err}
}
