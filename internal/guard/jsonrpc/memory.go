package jsonrpc

// Bounds of what is remembered of a server, which can go on inventing names.
const (
	MaxName    = 4 << 10 // bytes of a name, URI or template; longer ones are malformed
	maxBytes   = 4 << 20 // of keys and values in one Map
	MaxEntries = 10_000  // of one Map
)

// Map is a map of bounded size. Nothing is evicted, because what was forgotten would be let
// through: when Put returns false the caller must refuse instead. The zero Map is empty.
type Map[V any] struct {
	m    map[string]V
	size int // bytes of keys, and of what Put was told of values
}

// Put sets the value of key, which takes extra bytes besides the key's own, and reports whether
// there was room.
func (m *Map[V]) Put(key string, v V, extra int) bool {
	if _, ok := m.m[key]; !ok {
		if len(m.m) >= MaxEntries || m.size+len(key)+extra > maxBytes {
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

// Drop forgets key, which was put without extra bytes.
func (m *Map[V]) Drop(key string) {
	if _, ok := m.m[key]; ok {
		m.size -= len(key)
		delete(m.m, key)
	}
}

// Get returns the value of key, and whether there is one.
func (m *Map[V]) Get(key string) (V, bool) {
	v, ok := m.m[key]
	return v, ok
}

// Entries is the map itself, to be read only.
func (m *Map[V]) Entries() map[string]V { return m.m }

// Size is how many bytes the keys and values take.
func (m *Map[V]) Size() int { return m.size }
