package guard

import "github.com/hallmark-mcp/hallmark/digest"

// Bounds of what a session remembers of a server, which can go on inventing names.
const (
	maxName   = 4 << 10 // bytes of a name, URI or template; longer ones are malformed
	maxMemory = 4 << 20 // bytes of names and ids in one memory
	maxSeen   = 10_000  // entries of one memory
)

// memory is a map of bounded size. Nothing is evicted: what could be forgotten would
// be let through. When put returns false the caller must refuse instead.
type memory[V any] struct {
	m    map[string]V
	size int // bytes of keys, and of what put was told of values
}

// put sets the value of key, which takes extra bytes besides the key's own, and reports
// whether there was room.
func (m *memory[V]) put(key string, v V, extra int) bool {
	if _, ok := m.m[key]; !ok {
		if len(m.m) >= maxSeen || m.size+len(key)+extra > maxMemory {
			return false
		}
		m.size += len(key) + extra
	}
	if m.m == nil {
		m.m = map[string]V{}
	}
	m.m[key] = v
	return true
}

// drop forgets key, which was put without extra bytes.
func (m *memory[V]) drop(key string) {
	if _, ok := m.m[key]; ok {
		m.size -= len(key)
		delete(m.m, key)
	}
}

// stand is what stands for a name that is too long to be kept.
func stand(name []byte) string { return longMark + digest.FromBytes(name).String() }

const longMark = "#long-"
