package program

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What processes say is said once, and moves no cursor.
func TestMessages(t *testing.T) {
	var out bytes.Buffer
	m, err := newMessages(&out, "srv")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		fmt.Fprint(m.child, "no key\r\n\tat main\n\x1b[2Jhidden\n")
	}
	fmt.Fprint(m.child, strings.Repeat("x", maxMessage+1)+"\nthe end")
	m.show()
	m.close()
	want := "  srv says: no key\n  srv says:     at main\n  srv says: \\x1b[2Jhidden\n  srv says: " +
		strings.Repeat("x", maxMessage) + "\n  srv says: x\n  srv says: the end\n"
	if out.String() != want {
		t.Errorf("%.200q", out.String())
	}
	if _, err := m.child.Write(nil); err == nil {
		t.Error("the pipe is open")
	}
}

// What a capture that succeeds made a server print is not shown.
func TestMessagesHeldBack(t *testing.T) {
	var out bytes.Buffer
	m, err := newMessages(&out, "srv")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(m.child, "unknown method\n")
	m.close()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
	m.show()
	if want := "  srv says: unknown method\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// What a server left running holds nobody up.
func TestMessagesHeld(t *testing.T) {
	m, err := newMessages(new(bytes.Buffer), "srv")
	if err != nil {
		t.Fatal(err)
	}
	held := m.child
	if m.child, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	m.close() // would not return
}
