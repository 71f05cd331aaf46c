package installed

import (
	"bytes"
	"encoding/binary"
)

// ExecutableHead is how many bytes of a file [IsExecutable] looks at.
const ExecutableHead = 8

// universal is the first number of a file with programs of macOS for several processors, and of a class
// of Java, whose second number is its version: 45 or more.
const (
	universal   = 0xcafebabe
	universal64 = 0xcafebabf
	firstJava   = 45
)

// IsExecutable reports whether a file of a skill that begins with these bytes is installed as one that
// can be started: a script that names its interpreter, or a program of Linux or macOS. An archive holds
// no modes, so that the mode follows from the contents, no matter who packed them.
func IsExecutable(head []byte) bool {
	if bytes.HasPrefix(head, []byte("#!")) || bytes.HasPrefix(head, []byte("\x7fELF")) {
		return true
	}
	if len(head) < ExecutableHead {
		return false
	}
	switch binary.BigEndian.Uint32(head) {
	case 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, universal64:
		return true
	case universal:
		return binary.BigEndian.Uint32(head[4:]) < firstJava
	}
	return false
}
