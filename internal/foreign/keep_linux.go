package foreign

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A keeper is a second process of this program, between it and a server: the parent of the
// server, and of every process that the server leaves behind. It reads from a pipe that nobody
// writes to. When the other end is closed, by this process or by the kernel because this
// process is gone, the keeper kills all its descendants and ends. If the server ends by itself
// the keeper ends with the same status.

// keepMark is the first argument of a keeper. Its second is how many files the server gets;
// behind those it has the program to start, the pipe, and another to say that it began.
const keepMark = "-keep-server-"

// killPatience is how long a keeper may take to kill all, until it is killed itself.
const killPatience = time.Second

// signals are passed on by a keeper.
var signals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// keepersEnabled is true once [EnableKeepers] was called: this program can be its own keeper.
var keepersEnabled bool

// EnableKeepers makes [StartFile] start a keeper with each server. A program calls it once, before the
// first server.
func EnableKeepers() { keepersEnabled = true }

// A keeper runs in init and not in main, because initializing the other packages of the program
// takes longer than everything that the keeper does.
func init() {
	if len(os.Args) < 4 || os.Args[1] != keepMark {
		return
	}
	status, err := runKeeper(os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		syscall.Exit(2)
	}
	exitLike(status)
}

// StartFile starts the open file exe as the first process of a family, under a keeper if
// [EnableKeepers] was called. Then the keeper is the first process of the family, and is p.
func StartFile(exe *os.File, argv []string, attr *os.ProcAttr) (p *os.Process, f *Family, err error) {
	if !keepersEnabled {
		fd, err := duplicateAbove(exe, attr.Files)
		if err != nil {
			return nil, nil, fmt.Errorf("duplicate the program's descriptor: %w", err)
		}
		defer unix.Close(fd)
		return StartProcess("/proc/self/fd/"+strconv.Itoa(fd), argv, attr)
	}
	gone, alive, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe to its keeper: %w", err)
	}
	defer gone.Close()
	report, reportEnd, err := os.Pipe()
	if err != nil {
		alive.Close()
		return nil, nil, fmt.Errorf("make a pipe from its keeper: %w", err)
	}
	defer report.Close()
	with := *attr
	with.Sys = inNewSession()
	with.Sys.Pdeathsig = 0 // it outlives this process, and ends what is left
	with.Files = append(append([]*os.File{}, attr.Files...), exe, gone, reportEnd)
	f, err = startFamily(func() (int, error) {
		p, err = os.StartProcess("/proc/self/exe",
			append([]string{os.Args[0], keepMark, strconv.Itoa(len(attr.Files))}, argv...), &with)
		if err != nil {
			return 0, err
		}
		return p.Pid, nil
	})
	reportEnd.Close()
	if err != nil {
		alive.Close()
		return nil, nil, err
	}
	f.alive = alive
	if err := readReport(report); err != nil {
		f.Kill()
		f.Wait(func() error { _, err := p.Wait(); return err })
		return nil, nil, err
	}
	return p, f, nil
}

// readReport reads what a keeper reports, and returns an error unless it started its server.
func readReport(report io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(report, 4<<10))
	switch {
	case err != nil:
		return fmt.Errorf("read what its keeper reports: %w", err)
	case string(text) == startedMessage:
		return nil
	case len(text) == 0:
		return errors.New("its keeper did not start it")
	}
	return errors.New(string(text))
}

// startedMessage is what a keeper reports when its server has started.
const startedMessage = "begun"

// duplicateAbove duplicates file to a descriptor number that os.StartProcess does not overwrite in the
// child: it moves the child's files, and a pipe of its own, to the first numbers
// after the highest of them.
func duplicateAbove(file *os.File, files []*os.File) (int, error) {
	highest := 0
	for _, f := range files {
		highest = max(highest, int(f.Fd()))
	}
	return unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, highest+2*len(files)+8)
}

// runKeeper starts a server with the first files of this process, and waits until it has ended,
// or the process that started this one has.
func runKeeper(count string, argv []string) (status syscall.WaitStatus, err error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 3 || n > 64 {
		return 0, errors.New("is started by itself only")
	}
	for fd := range n + 3 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return 0, errors.New("is started by itself only")
		}
		unix.CloseOnExec(fd)
	}
	files := make([]*os.File, n)
	for i := range files {
		files[i] = os.NewFile(uintptr(i), "")
	}
	exe, gone, reporter := os.NewFile(uintptr(n), ""), os.NewFile(uintptr(n+1), ""), os.NewFile(uintptr(n+2), "")
	passed := make(chan os.Signal, 16)
	signal.Notify(passed, signals...)
	p, f, err := StartFile(exe, argv, &os.ProcAttr{Env: os.Environ(), Files: files})
	if err != nil {
		io.WriteString(reporter, err.Error())
		return 0, err
	}
	dropStandardStreams()
	for _, f := range append(files[3:], exe) {
		f.Close()
	}
	io.WriteString(reporter, startedMessage)
	reporter.Close()
	go func() {
		io.Copy(io.Discard, gone)
		EndAll()
		exitLike(syscall.WaitStatus(syscall.SIGKILL))
	}()
	go func() {
		for s := range passed {
			f.Signal(s.(syscall.Signal))
		}
	}()
	err = f.Wait(func() error {
		state, err := p.Wait()
		if err == nil {
			status = state.Sys().(syscall.WaitStatus)
		}
		return err
	})
	runtime.KeepAlive(files)
	return status, err
}

// dropStandardStreams replaces the keeper's standard streams, which are the server's: a reader of what
// the server writes waits until every copy of its pipes is closed.
func dropStandardStreams() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	unix.Close(null)
}

// exitLike ends this process as another one ended.
func exitLike(status syscall.WaitStatus) {
	if !status.Signaled() {
		syscall.Exit(status.ExitStatus())
	}
	s := status.Signal()
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var none [64]byte // the default action, in the form of any system
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	syscall.Kill(os.Getpid(), s)
	time.Sleep(100 * time.Millisecond)
	syscall.Exit(128 + int(s))
}
