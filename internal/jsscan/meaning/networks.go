package meaning

// Networks are the names of Node's global functions and classes that reach the network without any module.
var Networks = map[string]bool{"fetch": true, "WebSocket": true, "EventSource": true}

// MayNetwork reports whether the member name of a value may be one of [Networks].
func MayNetwork(of Set, name string) bool {
	return Networks[name] && of&(Global|PerhapsGlobal|OfGlobal) != 0
}
