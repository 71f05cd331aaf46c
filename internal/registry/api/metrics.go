package api

import (
	"cmp"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics tells. Nothing that a client chooses is a label, so that
// their number is bounded.
type metrics struct {
	handler  http.Handler
	requests *prometheus.HistogramVec // by method, route and status
	checks   prometheus.Histogram
}

// newMetrics returns the metrics of a registry, whose places for publishes are turns.
func newMetrics(config Config, turns *turns) *metrics {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hallmark_registry_request_seconds", Help: "Time to answer a request.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600},
		}, []string{"method", "route", "status"}),
		checks: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hallmark_registry_check_seconds", Help: "Time to fetch and hash the packages of one publish.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900},
		}),
	}
	r := registrar{prometheus.NewRegistry()}
	r.MustRegister(m.requests, m.checks, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.countRequests(config.Counters)
	r.gauge("checks", "Publishes whose packages are being fetched.", func() float64 { return float64(len(turns.all)) })
	if config.Log != nil {
		r.gauge("log_size", "Entries of the newest checkpoint.", func() float64 {
			return float64(config.Log.Head().Size)
		})
		r.gauge("log_broken", "1 if the log is never signed again, as the database does not have what was signed.",
			func() float64 {
				if config.Log.Broken() != nil {
					return 1
				}
				return 0
			})
		r.count("log_checkpoints_total", "Checkpoints signed.", nil, config.Log.Signed.Load)
	}
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// registrar registers metrics whose values are computed when they are read.
type registrar struct{ *prometheus.Registry }

// count registers a counter.
func (r registrar) count(name, help string, labels prometheus.Labels, n func() int64) {
	r.MustRegister(prometheus.NewCounterFunc(
		prometheus.CounterOpts{Name: "hallmark_registry_" + name, Help: help, ConstLabels: labels},
		func() float64 { return float64(n()) }))
}

// gauge registers a value that may fall.
func (r registrar) gauge(name, help string, n func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hallmark_registry_" + name, Help: help}, n))
}

// countRequests registers what came of requests.
func (r registrar) countRequests(c *Counters) {
	for result, n := range map[string]*atomic.Int64{
		"published": &c.Published, "repeated": &c.Repeated, "conflict": &c.Conflicts, "invalid": &c.Invalid,
		"refused": &c.Refused, "tolerated": &c.Tolerated,
	} {
		r.count("publishes_total", "Publishes by what came of them; a tolerated one is published too.",
			prometheus.Labels{"result": result}, n.Load)
	}
	for _, status := range hashStatuses {
		r.count("hash_failures_total", "Claims that failed.", prometheus.Labels{"status": string(status)},
			func() int64 {
				return c.Failures(status)
			})
	}
	r.count("unauthorized_total", "Requests without a token that permits them.", nil, c.Unauthorized.Load)
	r.count("status_changes_total", "Records whose status changed.", nil, c.StatusChanges.Load)
	r.count("logins_total", "Logins.", prometheus.Labels{"result": "issued"}, c.Logins.Load)
	r.count("logins_total", "Logins.", prometheus.Labels{"result": "refused"}, c.LoginsRefused.Load)
	r.count("limited_total", "Requests refused for a limit.", nil, c.Limited.Load)
}

// countAnswer counts one request. Its route is the pattern, not the path.
func (m *metrics) countAnswer(r *http.Request, status int, took time.Duration) {
	method, route := r.Method, r.Pattern
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other"
	}
	route = cmp.Or(route, "none")
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) countCheck(took time.Duration) { m.checks.Observe(took.Seconds()) }
