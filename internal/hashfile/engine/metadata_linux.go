package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// accessList is the attribute that holds a file's access control list.
const accessList = "system.posix_acl_access"

// copyMetadata gives f the owner, mode and extended attributes of the file that it replaces. Lost is what the system
// does not allow. Nobody gets more access by that: a file of another owner or group is not setuid or setgid, and what
// the lost group was allowed, others get only if everybody has it.
func copyMetadata(from, f *os.File, info fs.FileInfo) (lost []string, err error) {
	now, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// A directory may give new files an access control list, which is none of the old file's.
	if err := unix.Fremovexattr(int(f.Fd()), accessList); err != nil && !isUnavailable(err) {
		return nil, fmt.Errorf("the access control list of its directory cannot be removed: %w", err)
	}
	was, is := info.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	lost, groupLost, err := copyOwner(f, was, is)
	if err != nil {
		return nil, err
	}
	mode := was.Mode & 0o7777
	if len(lost) > 0 {
		mode &^= unix.S_ISUID | unix.S_ISGID
	}
	if groupLost {
		mode = mode&^0o070 | mode&0o007<<3
	}
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil { // after chown, which clears setuid
		return nil, fmt.Errorf("its mode cannot be kept: %w", err)
	}
	if was := was.Mode & 0o7777; mode != was {
		lost = append(lost, fmt.Sprintf("mode: was %04o, is now %04o", was, mode))
	}
	missing, err := copyAttributes(int(from.Fd()), int(f.Fd()), groupLost)
	return append(lost, missing...), err
}

// copyOwner gives f the owner and group of a file, as far as the system allows.
func copyOwner(f *os.File, was, is *syscall.Stat_t) (lost []string, groupLost bool, err error) {
	if was.Uid == is.Uid && was.Gid == is.Gid {
		return nil, false, nil
	}
	if err = f.Chown(int(was.Uid), int(was.Gid)); err == nil || !errors.Is(err, fs.ErrPermission) {
		return nil, false, wrapOwner(err)
	}
	if was.Uid != is.Uid {
		lost = append(lost, fmt.Sprintf("owner: was %s, is now %s", userName(was.Uid), userName(is.Uid)))
	}
	if was.Gid == is.Gid {
		return lost, false, nil
	}
	if err = f.Chown(-1, int(was.Gid)); err == nil || !errors.Is(err, fs.ErrPermission) {
		return lost, false, wrapOwner(err)
	}
	return append(lost, fmt.Sprintf("group: was %s, is now %s", groupName(was.Gid), groupName(is.Gid))), true, nil
}

func wrapOwner(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its owner cannot be kept: %w", place.Cause(err))
}

func userName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if u, err := user.LookupId(text); err == nil {
		return place.Show(u.Username)
	}
	return text
}

func groupName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if g, err := user.LookupGroupId(text); err == nil {
		return place.Show(g.Name)
	}
	return text
}

// isUnavailable reports whether an attribute is not there, or the file system has none of its kind.
func isUnavailable(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP)
}

// copyAttributes copies extended attributes, which include access control lists, and returns those that the system
// does not let it copy. A list was made for the file's group, and is not copied where another group would use it.
func copyAttributes(from, to int, groupLost bool) (lost []string, err error) {
	names, err := listAttributes(from)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == accessList && groupLost {
			lost = append(lost, "attribute "+name+": not kept, because the group is another")
			continue
		}
		value, err := readAttribute(from, name)
		if err == nil {
			if has, err := readAttribute(to, name); err == nil && bytes.Equal(has, value) {
				continue // such as security labels, which the system sets by itself
			}
			err = unix.Fsetxattr(to, name, value, 0)
		}
		switch {
		case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTSUP):
			lost = append(lost, fmt.Sprintf("attribute %s: not kept (%v)", place.Show(name), err))
		case err != nil:
			return nil, fmt.Errorf("its attribute %s cannot be kept: %w", place.Show(name), err)
		}
	}
	return lost, nil
}

func listAttributes(fd int) ([]string, error) {
	buf := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Flistxattr(fd, buf)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("its attributes cannot be listed: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00"), nil
}

func readAttribute(fd int, name string) ([]byte, error) {
	buf := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Fgetxattr(fd, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
