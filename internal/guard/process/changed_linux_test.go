package process

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestChangedWhileSealed changes a file between a static and a dynamic program while it is
// opened: what the copy in memory holds is never dynamic, even if the file was static when
// it was looked at. A dynamic program would load its libraries from files that nobody hashed.
func TestChangedWhileSealed(t *testing.T) {
	const size = int64(64) // of the header; the only segment follows, its type first
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: uint64(size), Ehsize: uint16(size), Phentsize: 56, Phnum: 1,
	}
	var program bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(elf.PT_NULL)}} {
		if err := binary.Write(&program, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !static(file) {
		t.Fatal("the program is not static to begin with")
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for kind := byte(elf.PT_INTERP); ; kind ^= byte(elf.PT_INTERP) {
			select {
			case <-stop:
				return
			default:
				file.WriteAt([]byte{kind}, size)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()

	refused := 0
	for end := time.Now().Add(hang.Long); refused < 5; {
		if time.Now().After(end) {
			t.Fatalf("the file changed in time only %d times", refused)
		}
		var m Image
		switch err := m.open(path, []digest.Algorithm{digest.SHA256}); {
		case err == nil:
			if m.sealed && !static(m.file) {
				t.Fatal("a dynamic program was sealed")
			}
			m.file.Close()
		case strings.Contains(err.Error(), "changed while it was read"):
			refused++
		default:
			t.Fatal(err)
		}
	}
}
