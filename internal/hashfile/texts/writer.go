package texts

import (
	"bytes"
	"encoding/json"
	"io"
)

// Writer returns a writer that passes messages on to w with the texts in place of their tokens. Each message has to
// come in one write.
func (t *Texts) Writer(w io.WriteCloser) io.WriteCloser {
	widenPipe(w)
	return &textWriter{t, w}
}

type textWriter struct {
	texts *Texts
	w     io.WriteCloser
}

func (w *textWriter) Close() error { return w.w.Close() }

func (w *textWriter) Write(message []byte) (int, error) {
	if !bytes.Contains(message, []byte(w.texts.secret)) {
		return w.w.Write(message)
	}
	buf, _ := w.texts.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	j := &jsonText{w: w.w, buf: (*buf)[:0]}
	w.texts.writeMessage(j, message)
	err := j.flush()
	if *buf = j.buf; cap(*buf) <= maxKept {
		w.texts.bufs.Put(buf)
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

// maxKept is the size, in bytes, above which a buffer is not used again.
const maxKept = 1 << 20

// writeMessage writes a message with the texts in place of their tokens. What cannot be written is an error of j.
func (t *Texts) writeMessage(j *jsonText, message []byte) {
	var batch []json.RawMessage
	if message[0] != '[' || json.Unmarshal(message, &batch) != nil {
		t.writeAnswer(j, message)
		return
	}
	for i, answer := range batch {
		j.writeRaw([]byte("[,")[min(i, 1):][:1])
		t.writeAnswer(j, answer)
	}
	j.writeRaw([]byte("]\n"))
}

// gone is the answer, after its id, to a call that ended before its text was written.
const gone = `,"error":{"code":-32000,"message":"the call was cancelled before its answer was written"}}`

// cut ends, as the inside of a JSON string, a text that was not written to its end.
const cut = `\n[this answer is not complete: the call was cancelled while it was written]\n`

// writeAnswer writes one answer. If a text is not known any more, it is an error: without its text it would look like
// that of an empty file.
func (t *Texts) writeAnswer(j *jsonText, message []byte) {
	var answer struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &answer) != nil || len(answer.ID) == 0 {
		answer.ID = json.RawMessage("null")
	}
	pieces, texts, ok := t.split(message)
	wanted, done := t.calls.begin(answer.ID)
	defer done()
	if !ok || wanted.Err() != nil {
		j.writeRaw([]byte(`{"jsonrpc":"2.0","id":`))
		j.writeRaw(answer.ID)
		j.writeRaw([]byte(gone))
		if bytes.HasSuffix(message, []byte{'\n'}) {
			j.writeRaw([]byte{'\n'})
		}
		return
	}
	for i, text := range texts {
		j.writeRaw(pieces[i])
		j.call, j.answer = text.ctx, wanted
		if err := text.write(j); err != nil {
			j.writeRaw([]byte(cut))
		}
		j.call, j.answer = nil, nil
	}
	j.writeRaw(pieces[len(texts)])
}

// split returns the texts of an answer and what stands before, between and behind them; ok is false if one of them is
// not known.
func (t *Texts) split(message []byte) (pieces [][]byte, texts []pending, ok bool) {
	for {
		i := bytes.Index(message, []byte(t.secret))
		if i < 0 {
			return append(pieces, message), texts, true
		}
		end := min(i+tokenSize, len(message))
		text, ok := t.get(message[i:end])
		if !ok {
			return nil, nil, false
		}
		pieces, texts = append(pieces, message[:i]), append(texts, text)
		message = message[end:]
	}
}
