package hashline

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// vectors is spec/hashline.json.
type vectors struct {
	Tags []struct {
		Line, Hash string
		Tags       []string
	}
	Files []struct {
		File         string
		Lines        int
		LineEnding   string `json:"line_ending"`
		FinalNewline bool   `json:"final_newline"`
		Encoding     string
		Text         []string
	}
	Binary []struct {
		Hex    string
		Offset int
	}
	Texts []struct {
		Text      string
		Operation *vectorOperation
		Error     *struct{ Code Code }
	}
	Contents []struct {
		Lines   []string
		Content *string
	}
	Edits   []editVector
	Rebases []editVector
	Maps    []editVector
}

type editVector struct {
	Name, File, Base, Current string
	Operations                []vectorOperation
	Width                     int
	Exact                     bool
	Reach                     int
	Result                    *string
	Relocated                 []struct {
		Operation int
		Anchor    string
		Line      int
	}
	Repeated []struct{ Operation, Line, Lines, Neighbour int }
	Mapped   []struct {
		Operation  int
		Anchor     string
		Read, Line int
		NewAnchor  string `json:"new_anchor"`
		Place      int
		Altered    bool
	}
	Error *struct {
		Code       Code
		Operations []int
		Candidates []int
	}
}

type vectorOperation struct {
	Op, Anchor string
	EndAnchor  string `json:"end_anchor"`
	Content    *string
}

// UnmarshalJSON reads an operation by its members, or written as one text.
func (o *vectorOperation) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		op, err := ParseOperation(text)
		*o = vectorOperation(op)
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	type members vectorOperation
	return d.Decode((*members)(o))
}

func (v editVector) operations() (ops []Operation) {
	for _, o := range v.Operations {
		ops = append(ops, Operation(o))
	}
	return ops
}

func (v editVector) options() Options { return Options{Width: v.Width, Exact: v.Exact, Reach: v.Reach} }

func load(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("../spec/hashline.json")
	must(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	must(t, d.Decode(&v))
	if len(v.Tags) < 25 || len(v.Files) < 10 || len(v.Binary) < 5 || len(v.Edits) < 150 || len(v.Rebases) < 15 ||
		len(v.Texts) < 50 || len(v.Contents) < 10 {
		t.Fatal("spec/hashline.json is not whole")
	}
	return v
}

func TestTags(t *testing.T) {
	for _, v := range load(t).Tags {
		h := Hash([]byte(v.Line))
		if got := fmt.Sprintf("%016x", h); got != v.Hash {
			t.Errorf("%q: hash %s, want %s", v.Line, got, v.Hash)
		}
		for i, want := range v.Tags {
			if got := Tag(h, MinWidth+i); got != want {
				t.Errorf("%q: tag %s, want %s", v.Line, got, want)
			}
		}
	}
}

// TestFiles reads each file at once, and in writes of each size.
func TestFiles(t *testing.T) {
	for _, v := range load(t).Files {
		f, err := Parse([]byte(v.File))
		must(t, err)
		want := strings.Join(v.Text, "\n")
		if len(v.Text) > 0 {
			want += "\n"
		}
		if got := string(f.AppendLines(nil, 1, f.Lines(), 2)); got != want || f.Lines() != v.Lines ||
			f.FinalNewline() != v.FinalNewline {
			t.Errorf("%q: %q, %d lines, ended %v", v.File, got, f.Lines(), f.FinalNewline())
		}
		for size := 1; size <= len(v.File)+1; size++ {
			var s Survey
			for p := range slices.Chunk([]byte(v.File), size) {
				if _, err := s.Write(p); err != nil {
					t.Fatalf("%q by %d: %v", v.File, size, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatalf("%q by %d: %v", v.File, size, err)
			}
			kept, lines, full := s.Kept()
			if got := string(AppendLines(nil, kept, 1, 2)); got != want || lines != v.Lines || full {
				t.Errorf("%q by %d: %q, %d lines", v.File, size, got, lines)
			}
			if s.Lines() != v.Lines || s.LineEnding() != v.LineEnding || s.FinalNewline() != v.FinalNewline ||
				s.Encoding() != v.Encoding || s.Size() != int64(len(v.File)) {
				t.Errorf("%q by %d: %d lines, %s, ended %v, %s, %d bytes", v.File, size, s.Lines(), s.LineEnding(),
					s.FinalNewline(), s.Encoding(), s.Size())
			}
		}
	}
}

func TestBinary(t *testing.T) {
	for _, v := range load(t).Binary {
		data, err := hex.DecodeString(v.Hex)
		must(t, err)
		want := fmt.Sprintf("at offset %d", v.Offset)
		check := func(how string, err error) {
			t.Helper()
			var e *Error
			if !errors.As(err, &e) || e.Code != Binary || !strings.HasSuffix(e.Error(), want) {
				t.Errorf("%s %s: %v, want %s", v.Hex, how, err, want)
			}
		}
		_, err = Parse(data)
		check("at once", err)
		for size := 1; size <= len(data); size++ {
			check(fmt.Sprintf("by %d", size), survey(&Survey{}, data, size))
		}
	}
}

func survey(s *Survey, data []byte, size int) error {
	for p := range slices.Chunk(data, size) {
		if _, err := s.Write(p); err != nil {
			return err
		}
	}
	return s.Close()
}

func TestTexts(t *testing.T) {
	for _, v := range load(t).Texts {
		op, err := ParseOperation(v.Text)
		if v.Error != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code != v.Error.Code {
				t.Errorf("%q: %v, want %s", v.Text, err, v.Error.Code)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(op, Operation(*v.Operation)) {
			t.Errorf("%q: %+v, %v", v.Text, op, err)
		}
	}
}

func TestContents(t *testing.T) {
	for _, v := range load(t).Contents {
		if got := JoinLines(v.Lines); !reflect.DeepEqual(got, v.Content) {
			t.Errorf("%q: %v, want %v", v.Lines, got, v.Content)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, v := range load(t).Edits {
		t.Run(v.Name, func(t *testing.T) {
			data := []byte(v.File)
			r, err := Edit(data, v.operations(), v.options())
			v.check(t, r, err)
			if string(data) != v.File {
				t.Error("the bytes that were given are changed")
			}
		})
	}
}

func TestRebases(t *testing.T) {
	for _, v := range load(t).Rebases {
		t.Run(v.Name, func(t *testing.T) {
			r, err := Rebase([]byte(v.Base), []byte(v.Current), v.operations(), v.options())
			v.check(t, r, err)
		})
	}
}

func TestMaps(t *testing.T) {
	maps := load(t).Maps
	if len(maps) < 20 {
		t.Fatal("spec/hashline.json is not whole")
	}
	for _, v := range maps {
		t.Run(v.Name, func(t *testing.T) {
			got, err := MapAnchors([]byte(v.Base), []byte(v.Current), v.operations(), v.options())
			if v.Error != nil {
				v.check(t, nil, err)
				return
			}
			must(t, err)
			var want []Mapped
			for _, m := range v.Mapped {
				want = append(want, Mapped(m))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func (v editVector) check(t *testing.T, r *Result, err error) {
	t.Helper()
	if v.Error != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%v, want %s", err, v.Error.Code)
		}
		if e.Code != v.Error.Code || !slices.Equal(e.Operations, v.Error.Operations) ||
			!slices.Equal(e.Candidates, v.Error.Candidates) {
			t.Errorf("%s (operations %d, candidates %d): %v; want %+v", e.Code, e.Operations, e.Candidates, e, *v.Error)
		}
		for _, i := range e.Operations { // named as people count
			if !strings.Contains(e.Error(), fmt.Sprintf("operation %d", i+1)) {
				t.Errorf("%v does not name operation %d", e, i+1)
			}
		}
		return
	}
	must(t, err)
	if string(r.Bytes()) != *v.Result {
		t.Errorf("%q, want %q", r.Bytes(), *v.Result)
	}
	var moved []string
	for _, m := range r.Relocated {
		moved = append(moved, fmt.Sprint(m))
	}
	var want []string
	for _, m := range v.Relocated {
		want = append(want, fmt.Sprint(Relocation(m)))
	}
	if !slices.Equal(moved, want) {
		t.Errorf("relocated %s, want %s", moved, want)
	}
	var repeated []Repetition
	for _, x := range v.Repeated {
		repeated = append(repeated, Repetition(x))
	}
	if !slices.Equal(r.Repeated, repeated) {
		t.Errorf("repeated %+v, want %+v", r.Repeated, repeated)
	}
}

// must demands that there is no error, of a test or of a property's check.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
