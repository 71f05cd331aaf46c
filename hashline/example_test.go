package hashline_test

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// Show a file to a model, and edit it by the anchors that the model was shown.
func ExampleEdit() {
	file := []byte("package main\n\nfunc main() {\n}\n")
	fmt.Printf("%s", hashline.AppendLines(nil, file, 1, hashline.MinWidth))

	body := "\tprintln(\"hello\")\n"
	result, err := hashline.Edit(file, []hashline.Operation{
		{Op: hashline.InsertAfter, Anchor: "3:1e", Content: &body},
	}, hashline.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	diff, _ := result.Diff(1, 1<<10)
	fmt.Print(diff)
	// Output:
	// 1:44|package main
	// 2:25|
	// 3:1e|func main() {
	// 4:88|}
	// @@ -3,2 +3,3 @@
	//  func main() {
	// +	println("hello")
	//  }
}

// An anchor that no longer holds is refused, and nothing of the edit is applied.
func ExampleError() {
	_, err := hashline.Edit([]byte("alpha\nbeta\n"), []hashline.Operation{
		{Op: hashline.Delete, Anchor: "9:00"},
	}, hashline.Options{Exact: true})
	if refused, ok := errors.AsType[*hashline.Error](err); ok {
		fmt.Println(refused.Code, refused.Operations)
		fmt.Println(refused)
	}
	// Output:
	// anchor_not_found [0]
	// operation 1: anchor 9:00: the file has 2 lines, the last is 2:a7 ("beta"); no line has tag 00. Give the anchor of the line that is meant as it was shown
}

// Merge an edit of the version that was read onto a file that has changed since.
func ExampleRebase() {
	read := []byte("alpha\nbeta\ngamma\n")
	current := []byte("before\nalpha\nbeta\ngamma\n")
	anchor, text := "3:"+hashline.Tag(hashline.Hash([]byte("gamma")), hashline.MinWidth), "delta"
	result, err := hashline.Rebase(read, current, []hashline.Operation{
		{Op: hashline.Replace, Anchor: anchor, Content: &text},
	}, hashline.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", result.Bytes())
	// Output:
	// before
	// alpha
	// beta
	// delta
}

// Read an operation that a model wrote as one text.
func ExampleParseOperation() {
	operation, err := hashline.ParseOperation(`replace 2:a7 with 'BETA'`)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := hashline.Edit([]byte("alpha\nbeta\n"), []hashline.Operation{operation}, hashline.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", result.Bytes())
	// Output:
	// alpha
	// BETA
}

// Say where the lines of a stale edit are now.
func ExampleMapAnchors() {
	read := []byte("alpha\nbeta\ngamma\n")
	current := []byte("before\nalpha\nbeta\n")
	mapped, err := hashline.MapAnchors(read, current, []hashline.Operation{
		{Op: hashline.Delete, Anchor: "2:a7"},
		{Op: hashline.Delete, Anchor: "3:6a"},
	}, hashline.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range mapped {
		if m.NewAnchor == "" {
			fmt.Println(m.Anchor, "is gone; it stood near line", m.Place)
		} else {
			fmt.Println(m.Anchor, "is", m.NewAnchor)
		}
	}
	// Output:
	// 2:a7 is 3:a7
	// 3:6a is gone; it stood near line 3
}
