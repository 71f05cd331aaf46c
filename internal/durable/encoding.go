package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// A journal is one line of text,
//
//	hallmark-journal-v1 sha256:<digest of all that follows the line feed>
//
// and a JSON array of [File]. The digest comes first: a journal that was cut off either lacks
// it or has content that does not match it.
const (
	journalFamily  = "hallmark-journal-v"
	journalVersion = "1"
)

// MaxJournal is the largest journal, in bytes. Contents take 4/3 of their size.
const MaxJournal = 256 << 20

var errTorn = errors.New("the journal is not complete")

// encodeJournal returns the journal and a name for temporary files that follows from it.
func encodeJournal(files []File) (data []byte, id string, err error) {
	body, err := json.Marshal(files)
	if err != nil {
		return nil, "", err
	}
	sum := digest.FromBytes(body)
	data = slices.Concat([]byte(journalFamily+journalVersion+" "+sum.String()+"\n"), body)
	if len(data) > MaxJournal {
		return nil, "", fmt.Errorf("%s bytes to replace at once are too many", evidence.Group(int64(len(data))))
	}
	return data, sum.Hex()[:12], nil
}

// readJournal is the inverse of encodeJournal. Its error wraps errTorn if the journal was never
// complete, and fs.ErrNotExist if there is none.
func readJournal(path string) ([]File, string, error) {
	data, err := ReadFile(path, MaxJournal)
	if err != nil {
		return nil, "", stripPath(err)
	}
	return decodeJournal(data)
}

func decodeJournal(data []byte) ([]File, string, error) {
	line, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, "", errTorn
	}
	head, claimed, ok := strings.Cut(string(line), " ")
	number, isJournal := strings.CutPrefix(head, journalFamily)
	if !ok || !isJournal {
		return nil, "", errTorn
	}
	if number != journalVersion {
		return nil, "", fmt.Errorf("version %+q is not known; a newer program wrote it, and can finish it", number)
	}
	claim, err := digest.Parse(claimed)
	sum := digest.FromBytes(body)
	if err != nil || !evidence.Same(claim, sum) {
		return nil, "", errTorn
	}
	// The digest matches, so the journal is complete: whatever cannot be read from here on is an error.
	var files []File
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&files); err != nil {
		return nil, "", err
	}
	if err := checkFiles(files); err != nil {
		return nil, "", err
	}
	return files, sum.Hex()[:12], nil
}
