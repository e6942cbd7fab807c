package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// keep runs a broker for several test binaries, one after another or at once.
//
// Every user holds a shared lock on the users file for as long as its process
// lives, so a killed user is gone without a trace. When for the idle time
// nobody has held it, the keeper takes the start lock, so that no new user can
// come between, looks once more, ends the broker and removes its folder.
//
//	kafkatool keep -users FILE -start FILE -state FILE -dir DIR -idle 2m -- java ...
func keep(args []string) error {
	flags := flag.NewFlagSet("keep", flag.ContinueOnError)
	users := flags.String("users", "", "file that each user locks (shared)")
	start := flags.String("start", "", "file that is locked while a broker is started or ended")
	state := flags.String("state", "", "file that tells users of the broker; removed at the end")
	dir := flags.String("dir", "", "the broker's folder; removed at the end")
	idle := flags.Duration("idle", 2*time.Minute, "end the broker after this time without a user")
	if err := flags.Parse(args); err != nil {
		return err
	}
	command := flags.Args()
	if len(command) == 0 || *users == "" || *start == "" || *state == "" || *dir == "" {
		return errors.New("needs -users, -start, -state, -dir and a command")
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	broker := exec.Command(command[0], command[1:]...)
	broker.Stdout, broker.Stderr = os.Stdout, os.Stderr
	endWithParent(broker)
	if err := broker.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- broker.Wait() }()

	var since time.Duration
	tick := time.NewTicker(keepTick)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the broker ended by itself: %v", err)
		case <-signals:
			finish(broker, ended, *state, *dir)
			return nil
		case <-tick.C:
		}
		if inUse(*users) {
			since = 0
			continue
		}
		since += keepTick
		if since < *idle {
			continue
		}
		starting, err := lock(*start)
		if err != nil {
			since = 0
			continue
		}
		if inUse(*users) {
			starting.Close()
			since = 0
			continue
		}
		finish(broker, ended, *state, *dir)
		return starting.Close()
	}
}

// keepTick is how often the keeper looks for users.
const keepTick = time.Second

// finish removes the state first: nobody may find a broker that is ending.
// A later keeper's state file is left alone. The broker's data is of no use,
// so it is not asked to stop in order.
func finish(broker *exec.Cmd, ended <-chan error, state, dir string) {
	if text, err := os.ReadFile(state); err == nil && strings.Contains(string(text), strconv.Quote(dir)) {
		os.Remove(state)
	}
	broker.Process.Kill()
	<-ended
	os.RemoveAll(dir)
}

// inUse tells whether anybody holds the users file.
func inUse(path string) bool {
	f, err := lock(path)
	if err != nil {
		return true
	}
	f.Close()
	return false
}

// lock takes a file's exclusive lock without waiting; closing releases it.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
