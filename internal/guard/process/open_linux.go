package process

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/digest"
)

// maxSealed is the largest executable that is copied into memory.
const maxSealed = 64 << 20

// open hashes path and keeps what can be executed: a sealed copy of a static
// ELF file that is to be started, else the file itself.
func (m *Image) open(path string, algs []digest.Algorithm) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case info.Mode()&0o111 == 0:
		err = errors.New("not executable")
	default:
		m.id = idOf(file)
		err = m.read(file, info.Size(), path, algs)
	}
	if m.file != file {
		file.Close()
	}
	return err
}

// read hashes file and sets m.file. If the file can be sealed, the copy is what is hashed and
// inspected.
func (m *Image) read(file *os.File, size int64, path string, algs []digest.Algorithm) error {
	run := file
	if !m.compared && size <= maxSealed && static(file) {
		sealed, err := seal(file, path)
		if err != nil {
			return err
		}
		run, m.sealed = sealed, true
	}
	err := m.hash(io.NewSectionReader(run, 0, 1<<62), path, algs)
	if err == nil {
		head := make([]byte, maxShebang)
		k, _ := run.ReadAt(head, 0)
		m.shebang, err = parseShebang(string(head[:k]))
	}
	if err == nil && m.sealed && !static(run) {
		err = errors.New("changed while it was read")
	}
	if err != nil {
		if run != file {
			run.Close()
		}
		return err
	}
	m.file = run
	return nil
}

// static reports whether r is an ELF file that no dynamic linker loads.
func static(r io.ReaderAt) bool {
	f, err := elf.NewFile(r)
	if err != nil || f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return false
	}
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// seal copies file into a memory file that cannot be written, grown or shrunk.
func seal(file *os.File, path string) (*os.File, error) {
	fd, err := unix.MemfdCreate("hallmark", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("hallmark", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memory file: %w", err)
	}
	sealed := os.NewFile(uintptr(fd), path)
	n, err := io.Copy(sealed, io.NewSectionReader(file, 0, maxSealed+1))
	if err == nil && n > maxSealed {
		err = errors.New("changed while it was read")
	}
	if err == nil {
		_, err = unix.FcntlInt(sealed.Fd(), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		sealed.Close()
		return nil, err
	}
	return sealed, nil
}

// descriptorsAreNames is false because /dev/fd leads to the open file itself.
const descriptorsAreNames = false
