//go:build unix

package postgres

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user to run as where this process is root: PostgreSQL's own, or
// one that owns nothing.
func account() (*syscall.Credential, error) {
	var last error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			last = err
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.Join(errors.New("no user to run as"), last)
}

// unprivileged makes c run as account if this process is root, in a group of its
// own, so that an interrupt at the terminal does not reach it before the test ends.
func unprivileged(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return nil
	}
	var err error
	c.SysProcAttr.Credential, err = account()
	return err
}

// giveAway makes dir account's.
func giveAway(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	a, err := account()
	if err != nil {
		return err
	}
	return os.Chown(dir, int(a.Uid), int(a.Gid))
}
