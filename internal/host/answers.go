package host

import "sync"

// Answers keeps what a slow program answered, so that one command asks it the same question once. It must not outlive
// the command. A nil Answers keeps nothing.
type Answers struct {
	mu   sync.Mutex
	kept map[string]*answer
}

type answer struct {
	mu   sync.Mutex // held while it is asked
	data []byte
}

// Get returns the answer to a question, for which it calls ask unless that answered before. An error is no answer.
func (a *Answers) Get(question string, ask func() ([]byte, error)) ([]byte, error) {
	if a == nil {
		return ask()
	}
	a.mu.Lock()
	one := a.kept[question]
	if one == nil {
		if a.kept == nil {
			a.kept = map[string]*answer{}
		}
		one = new(answer)
		a.kept[question] = one
	}
	a.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.data != nil {
		return one.data, nil
	}
	data, err := ask()
	if err != nil {
		return nil, err
	}
	one.data = data
	return data, nil
}
