package host

import (
	"reflect"
	"sync"
)

// Kept holds what other packages remember during one command, by its type. It must not outlive the command.
type Kept struct {
	mu  sync.Mutex
	all map[reflect.Type]any
}

// KeptOf returns the one T of a command, which begins as its zero value. A nil k keeps nothing: each call returns a new
// one.
func KeptOf[T any](k *Kept) *T {
	if k == nil {
		return new(T)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := reflect.TypeFor[T]()
	if k.all[kind] == nil {
		if k.all == nil {
			k.all = map[reflect.Type]any{}
		}
		k.all[kind] = new(T)
	}
	return k.all[kind].(*T)
}
