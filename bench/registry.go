package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
)

// field is a database cluster and a directory in which registries are measured.
type field struct {
	options
	dir     string
	cluster *postgres.Server
	random  *rand.Rand
}

// newField starts a cluster.
func newField(o options) (*field, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	f := &field{options: o, dir: dir, random: rand.New(rand.NewPCG(1, 1))}
	f.cluster, err = postgres.Create(clusterSettings...)
	if err == nil {
		err = built.Write(f.program(), "cmd/hallmark-registry")
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *field) close() error {
	var err error
	if f.cluster != nil {
		err = f.cluster.Close()
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// benchRegistry runs P7 and P9.
func benchRegistry(ctx context.Context, o options, t *table) (err error) {
	f, err := newField(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	rows, err := generate(o.versions)
	if err != nil {
		return err
	}
	return f.compare(ctx, t, rows)
}

// benchScale runs P8.
func benchScale(ctx context.Context, o options, t *table) (err error) {
	f, err := newField(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return f.scale(ctx, t)
}

// reads is one kind of request, in the form of each side.
type reads struct {
	name            string
	ours, reference [][]byte
	target          float64 // of requests per second; 0 is none
}

// workloads are the reads of P7 over rows.
func (f *field) workloads(rows []row) []reads {
	same := func(name string, target float64, paths []string) reads {
		w := reads{name: name, target: target}
		for _, p := range paths {
			w.ours = append(w.ours, get(p))
		}
		w.reference = w.ours
		return w
	}
	some := func(n int, make func(row) string) []string {
		var paths []string
		for range n {
			paths = append(paths, make(rows[f.random.IntN(len(rows))]))
		}
		return paths
	}
	deep := reads{name: "list of 100, anywhere", target: 3}
	for range 1000 {
		r := rows[f.random.IntN(len(rows))]
		deep.ours = append(deep.ours,
			get("/v0/servers?limit=100&cursor="+base64.RawURLEncoding.EncodeToString([]byte(r.name+"\x00"+r.version))))
		deep.reference = append(deep.reference,
			get("/v0/servers?limit=100&cursor="+url.QueryEscape(r.name+":"+r.version)))
	}
	rare := same("search, rare", 1.5, some(1000, func(r row) string {
		_, short, _ := strings.Cut(r.name, "/")
		return "/v0/servers?search=" + short[max(0, len(short)-9):]
	}))
	common := same("search, common", 0,
		[]string{"/v0/servers?search=server", "/v0/servers?search=weather", "/v0/servers?search=tools"})
	return []reads{
		same("list of 30", 3, []string{"/v0/servers"}),
		same("list of 100", 3, []string{"/v0/servers?limit=100"}),
		same("latest, 100", 3, []string{"/v0/servers?version=latest&limit=100"}),
		deep,
		same("get latest", 1.5,
			some(5000, func(r row) string { return "/v0/servers/" + url.PathEscape(r.name) + "/versions/latest" })),
		same("get exact", 1.5, some(5000, func(r row) string {
			return "/v0/servers/" + url.PathEscape(r.name) + "/versions/" + url.PathEscape(r.version)
		})),
		rare,
		common,
	}
}

// compare runs P7 and P9: both registries on one cluster with the same rows.
func (f *field) compare(ctx context.Context, t *table, rows []row) error {
	began := time.Now()
	mine, err := f.cluster.Database(ctx)
	if err != nil {
		return err
	}
	if err := fillOurs(ctx, mine, rows); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bench: %d records inserted in %s\n", len(rows), time.Since(began).Round(time.Millisecond))
	var reference *process
	if f.peers {
		if reference, err = f.officialWith(ctx, rows); err != nil {
			return err
		}
		defer reference.stop()
	}
	var profiling []string
	if f.profile != "" {
		profiling = []string{"--debug-addr", "127.0.0.1:6060"}
	}
	ours, err := f.ours(ctx, "ours", mine, profiling...)
	if err != nil {
		return err
	}
	defer ours.stop()
	if f.wants("P7") {
		if err := f.compareReads(t, ours, reference, rows); err != nil {
			return err
		}
	}
	if f.wants("P9") {
		return f.comparePublishes(t, ours, reference)
	}
	return nil
}

// officialWith starts the official registry with rows.
func (f *field) officialWith(ctx context.Context, rows []row) (*process, error) {
	if err := installOfficial(ctx, f.dir); err != nil {
		return nil, err
	}
	theirs, err := f.cluster.Database(ctx)
	if err != nil {
		return nil, err
	}
	p, err := f.official(ctx, theirs) // migrates
	if err != nil {
		return nil, err
	}
	if err := fillOfficial(ctx, theirs, rows); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// compareReads runs P7.
func (f *field) compareReads(t *table, ours, reference *process, rows []row) error {
	for _, w := range f.workloads(rows) {
		target := "–"
		if w.target > 0 {
			target = fmt.Sprintf("≥ %g×, lower p99", w.target)
		}
		if err := f.alternate(t, "P7 "+w.name, target, ours, reference, cycle(w.ours), cycle(w.reference)); err != nil {
			return err
		}
	}
	t.add("P7 memory, peak", fmt.Sprintf("%.0f MiB", ours.memory()), fmt.Sprintf("%.0f MiB", reference.memory()),
		ratio(ours.memory(), reference.memory()), "≤ 256 MiB")
	return nil
}

// comparePublishes runs P9.
func (f *field) comparePublishes(t *table, ours, reference *process) error {
	var token string
	var err error
	if reference != nil { // whose token lasts five minutes
		if token, err = anonymousToken(reference.addr); err != nil {
			return err
		}
	}
	ourToken, err := anonymousToken(ours.addr)
	if err != nil {
		ourToken = ""
	}
	toOurs, err := publishes(ourToken)
	if err != nil {
		return err
	}
	toReference, err := publishes(token)
	if err != nil {
		return err
	}
	return f.alternate(t, "P9 publish", "≥ 3×", ours, reference, toOurs, toReference)
}

// alternate measures both in turn and adds the medians to the table. A reference that is nil is left out.
func (f *field) alternate(t *table, what, target string, ours, reference *process, mine, theirs source) error {
	var rates, p99s [2][]float64
	var sizes [2]float64
	for round := range f.rounds + 1 {
		for side, p := range []*process{ours, reference} {
			if p == nil {
				continue
			}
			requests, d := mine, f.time
			if side == 1 {
				requests = theirs
			}
			if round == 0 {
				d = min(d, 500*time.Millisecond) // to warm up
			}
			stop := func() error { return nil }
			if f.profile != "" && side == 0 && round == 1 {
				stop = f.cpuProfile(what, d)
			}
			l, err := measure(p.addr, requests, d)
			if err := errors.Join(err, stop()); err != nil {
				return fmt.Errorf("%s: %s: %w", what, p.name, err)
			}
			if round > 0 {
				rates[side], p99s[side] = append(rates[side], l.rate), append(p99s[side], l.p99)
				sizes[side] = l.bytes
			}
		}
	}
	r0, r1, l0, l1 := median(rates[0]), median(rates[1]), median(p99s[0]), median(p99s[1])
	shown := "–"
	if reference != nil {
		shown = fmt.Sprintf("%.0f/s, p99 %.1f ms, %.1f kB", r1, l1, sizes[1]/1000)
	}
	t.add(what, fmt.Sprintf("%.0f/s, p99 %.1f ms, %.1f kB", r0, l0, sizes[0]/1000), shown,
		fmt.Sprintf("%s, p99 %s", ratio(r0, r1), ratio(l0, l1)), target)
	return nil
}

func ratio(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", a/b)
}

// cpuProfile takes a profile of ours for as long as a measurement.
func (f *field) cpuProfile(what string, d time.Duration) func() error {
	done := make(chan error, 1)
	go func() {
		answer, err := http.Get(
			fmt.Sprintf("http://127.0.0.1:6060/debug/pprof/profile?seconds=%d", max(1, int(d.Seconds()))))
		if err != nil {
			done <- err
			return
		}
		defer answer.Body.Close()
		file, err := os.Create(filepath.Join(f.profile, strings.ReplaceAll(what, " ", "-")+".prof"))
		if err == nil {
			_, err = file.ReadFrom(answer.Body)
			err = errors.Join(err, file.Close())
		}
		done <- err
	}()
	return func() error { return <-done }
}

// scale runs P8: our registry with many records beside our registry with few.
func (f *field) scale(ctx context.Context, t *table) error {
	sides := [2]*process{}
	var loads [2][]reads
	for i, n := range []int{f.million, f.few} {
		rows, err := generate(n)
		if err != nil {
			return err
		}
		database, err := f.cluster.Database(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := fillOurs(ctx, database, rows); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "bench: %d records inserted in %s\n", n, time.Since(began).Round(time.Millisecond))
		if sides[i], err = f.ours(ctx, fmt.Sprint("ours-", n), database); err != nil {
			return err
		}
		defer sides[i].stop()
		loads[i] = f.workloads(rows)
	}
	for i, w := range loads[0] {
		if w.name == "search, common" { // what is common among few is not among many
			continue
		}
		what := fmt.Sprintf("P8 %s, %d against %d", w.name, f.million, f.few)
		if err := f.alternate(t, what, "p99 ≤ 1.2×", sides[0], sides[1], cycle(w.ours), cycle(loads[1][i].ours)); err !=
			nil {
			return err
		}
	}
	return nil
}
