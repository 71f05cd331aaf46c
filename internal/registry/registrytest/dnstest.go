package registrytest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// DNSServer is a DNS server on a loopback port, over UDP and TCP, which answers for the names that were set and no
// others.
type DNSServer struct {
	Addr string // host:port

	mu    sync.Mutex
	txt   map[string][]string
	addrs map[string][]netip.Addr
	asked map[string]int
}

// StartDNS starts a server that stops with the test.
func StartDNS(t testing.TB) *DNSServer {
	t.Helper()
	s := &DNSServer{txt: map[string][]string{}, addrs: map[string][]netip.Addr{}, asked: map[string]int{}}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = tcp.Addr().String()
	udp, err := net.ListenPacket("udp", s.Addr)
	if err != nil {
		tcp.Close()
		t.Skipf("no port is free for both UDP and TCP: %v", err)
	}
	var wait sync.WaitGroup
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
		wait.Wait()
	})
	wait.Go(func() { s.servePackets(udp) })
	wait.Go(func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { s.serveConn(c) })
		}
	})
	return s
}

// servePackets answers the queries that arrive over UDP, until the connection is closed.
func (s *DNSServer) servePackets(udp net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := udp.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := s.answer(buf[:n], 1200); answer != nil {
			udp.WriteTo(answer, from)
		}
	}
}

// serveConn answers one query over TCP, and closes the connection.
func (s *DNSServer) serveConn(c net.Conn) {
	defer c.Close()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, query); err != nil {
		return
	}
	if answer := s.answer(query, 1<<16-1); answer != nil {
		c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

// TXT sets the TXT records of a name.
func (s *DNSServer) TXT(name string, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.txt[key(name)] = texts
}

// Host sets the addresses of a name.
func (s *DNSServer) Host(name string, addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs[key(name)] = nil
	for _, a := range addrs {
		s.addrs[key(name)] = append(s.addrs[key(name)], netip.MustParseAddr(a))
	}
}

// CountAsked returns how often a name was asked for.
func (s *DNSServer) CountAsked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[key(name)]
}

// Resolver asks this server only.
func (s *DNSServer) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr)
	}}
}

func key(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// answer is the reply to a query, cut off at most bytes.
func (s *DNSServer) answer(query []byte, most int) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := key(q.Name.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name]++
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	m.Additionals = nil
	texts, hasTXT := s.txt[name]
	addrs, hasAddrs := s.addrs[name]
	if !hasTXT && !hasAddrs {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, body := range resources(q.Type, texts, addrs) {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 0}, Body: body})
	}
	packed, err := m.Pack()
	if err == nil && len(packed) > most {
		m.Answers, m.Truncated = nil, true
		packed, err = m.Pack()
	}
	if err != nil {
		return nil
	}
	return packed
}

// resources returns what a name has of the type that was asked for.
func resources(of dnsmessage.Type, texts []string, addrs []netip.Addr) (bodies []dnsmessage.ResourceBody) {
	switch of {
	case dnsmessage.TypeTXT:
		for _, text := range texts {
			var parts []string
			for len(text) > 255 { // the most that one string of a record holds
				parts, text = append(parts, text[:255]), text[255:]
			}
			bodies = append(bodies, &dnsmessage.TXTResource{TXT: append(parts, text)})
		}
	case dnsmessage.TypeA:
		for _, a := range addrs {
			if a.Is4() {
				bodies = append(bodies, &dnsmessage.AResource{A: a.As4()})
			}
		}
	case dnsmessage.TypeAAAA:
		for _, a := range addrs {
			if a.Is6() {
				bodies = append(bodies, &dnsmessage.AAAAResource{AAAA: a.As16()})
			}
		}
	}
	return bodies
}
