package check

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/project"
)

// closureWith is a closure of npm for the package a, which depends on what packages lists.
func closureWith(t *testing.T, packages string) *project.Closure {
	t.Helper()
	c, err := project.ParseClosure([]byte(`{"lockfileVersion": 3, "name": "hallmark-closure", "packages": {"": {"dependencies": ` +
		`{"a": "1.0.0"}, "name": "hallmark-closure"}, "node_modules/a": {"version": "1.0.0"}` + packages + `}, "requires": true}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDependencies: each package is said once, by its versions; the root is said with its server, and other bytes of the
// same version are a difference.
func TestDependencies(t *testing.T) {
	hash := func(text string) string { return `"integrity": "` + digest.FromBytes([]byte(text)).SRI() + `"` }
	before := closureWith(t, `, "node_modules/b": {"version": "1.0.0"}, "node_modules/c": {"version": "1.0.0"}, `+
		`"node_modules/d": {"version": "1.0.0", `+hash("one")+`}, "node_modules/same": {"version": "1.0.0"}`)
	now := closureWith(t, `, "node_modules/b": {"version": "2.0.0"}, "node_modules/d": {"version": "1.0.0", `+hash("two")+
		`}, "node_modules/d/node_modules/b": {"version": "1.0.0"}, "node_modules/new": {"version": "0.1.0"}, `+
		`"node_modules/same": {"version": "1.0.0"}`)
	want := []MemberChange{
		{"b", WasChanged, "1.0.0", "1.0.0, 2.0.0", ""},
		{"c", WasRemoved, "1.0.0", "", ""},
		{"d", WasChanged, "1.0.0", "1.0.0", "the same version, with other bytes or for other platforms"},
		{"new", WasAdded, "", "0.1.0", ""},
	}
	if got := dependenciesOf(before, now); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := dependenciesOf(nil, now); len(got) != 4 || got[0].Change != WasAdded {
		t.Errorf("of none: %+v", got)
	}
	if got := dependenciesOf(now, now); got != nil {
		t.Errorf("of the same: %+v", got)
	}
}

// TestEveryMemberIsSaid: no member of an entry of the lock differs without a field, so that one which is added to the
// format is shown without a change here.
func TestEveryMemberIsSaid(t *testing.T) {
	for _, entry := range []any{project.ServerLock{}, project.FacetLock{}, project.LaunchLock{}} {
		empty, err := flatMembers(entry)
		if err != nil {
			t.Fatal(err)
		}
		of := reflect.TypeOf(entry)
		for i := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			v := reflect.New(of).Elem()
			fillMembers(v.Field(i))
			filled, err := flatMembers(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range fieldChangesOf(empty, filled, nil) {
				found = found || f.What == key || strings.HasPrefix(f.What, key+".")
			}
			if !found {
				t.Errorf("%s: %s is not said", of, of.Field(i).Name)
			}
		}
	}
}

// fillMembers sets v, or something in it, to what is not its zero value.
func fillMembers(v reflect.Value) {
	if v.Type() == reflect.TypeFor[digest.Digest]() {
		v.Set(reflect.ValueOf(digest.FromBytes(nil)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillMembers(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fillMembers(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillMembers(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillMembers(key)
		fillMembers(value)
		v.SetMapIndex(key, value)
	}
}

// TestFields: the first come first, a value that went or came is "" on the other side, and lists are one value.
func TestFields(t *testing.T) {
	config, err := configTables([]byte("a = 1\n[t]\nx = [\"<\", \"y\"]\nwhen = 2026-01-02\n"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	flatten(fields, "", config)
	want := []FieldChange{{"t.x", "", `["<","y"]`}, {"a", "", "1"}, {"t.when", "", `"2026-01-02"`}}
	if got := fieldChangesOf(nil, fields, []string{"t.x", "none"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := fieldChangesOf(fields, nil, nil); len(got) != 3 || got[0] != (FieldChange{"a", "1", ""}) {
		t.Errorf("%+v", got)
	}
}
