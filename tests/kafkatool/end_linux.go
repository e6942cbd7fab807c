package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// endWithParent has the kernel kill the command when this process dies. The
// kernel means the thread that starts it, so that thread must stay.
func endWithParent(c *exec.Cmd) {
	runtime.LockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
