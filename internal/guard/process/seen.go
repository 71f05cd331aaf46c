package process

import (
	"fmt"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Opener opens and hashes an executable: [Open] for one that is started, [Seen.Look] for one that is only compared.
type Opener func(path string, algs ...digest.Algorithm) (*Image, error)

// Seen remembers which executables one command looked at, so that it reads the interpreter of many servers once. It
// must not outlive the command. A nil Seen remembers nothing.
type Seen struct {
	mu    sync.Mutex
	known map[lookedAt]Image
}

// lookedAt is a file as it was before it was read, and how it was hashed.
type lookedAt struct {
	path, algs string // a path counts, since what was observed names it
	id         fileID
}

// Look is [Open] for a file that is not started. What it returns is closed already, and cannot be executed: who starts
// a program opens it, which hashes the bytes that run.
func (s *Seen) Look(path string, algs ...digest.Algorithm) (*Image, error) {
	if s != nil {
		s.mu.Lock() // held while a file is read: who asks for the same one waits for the answer
		defer s.mu.Unlock()
		if chain, err := resolve(path); err == nil {
			final := chain[len(chain)-1]
			if id := idAt(final); id != nil {
				if m, ok := s.known[lookedAt{final, fmt.Sprint(algs), *id}]; ok {
					m.Chain = chain
					return &m, nil
				}
			}
		}
	}
	m, err := (&Image{compared: true}).openAt(path, algs)
	if err != nil {
		return nil, err
	}
	m.file.Close()
	m.file = nil
	if s != nil && m.id != nil {
		if s.known == nil {
			s.known = map[lookedAt]Image{}
		}
		s.known[lookedAt{m.Path(), fmt.Sprint(algs), *m.id}] = *m
	}
	return m, nil
}
