package app

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// boundedFlag is a flag with a number between least and most. Another number is a usage error; it
// does not wrap around, and does not mean "no limit".
type boundedFlag[T cmp.Ordered] struct {
	p           *T
	least, most T
	parse       func(string) (T, error)
	kind        string
}

func (b boundedFlag[T]) String() string { return fmt.Sprint(*b.p) }

func (b boundedFlag[T]) Type() string { return b.kind }

func (b boundedFlag[T]) Set(text string) error {
	n, err := b.parse(text)
	if err != nil || !(n >= b.least && n <= b.most) { // which NaN is neither
		return fmt.Errorf("want a %s from %v to %v", b.kind, b.least, b.most)
	}
	*b.p = n
	return nil
}

// Bounds are the default of a flag with a number, and the least and most that it accepts.
type Bounds[T cmp.Ordered] struct{ Default, Least, Most T }

// IntVar defines a flag with a whole number.
func IntVar(f *pflag.FlagSet, p *int, name string, b Bounds[int], usage string) {
	*p = b.Default
	f.Var(boundedFlag[int]{p, b.Least, b.Most, strconv.Atoi, "number"}, name, usage)
}

// maxMiB is more than any of these limits needs, and does not overflow in bytes.
const maxMiB = 1 << 30

// MebibytesVar defines a flag in MiB, by default with maxMiB as the most that it takes.
func MebibytesVar(f *pflag.FlagSet, p *Mebibytes, name string, b Bounds[Mebibytes], usage string) {
	*p = b.Default
	parse := func(s string) (Mebibytes, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		return Mebibytes(n), err
	}
	f.Var(boundedFlag[Mebibytes]{p, b.Least, cmp.Or(b.Most, maxMiB), parse, "number"}, name, usage)
}

// Mebibytes is a number of 2^20 bytes.
type Mebibytes int64

// Bytes returns the number of bytes.
func (m Mebibytes) Bytes() int64 { return int64(m) << 20 }

// RateVar defines a flag with a number per second; 0 means no limit.
func RateVar(f *pflag.FlagSet, p *float64, name string, value float64, usage string) {
	*p = value
	f.Var(boundedFlag[float64]{p, 0, 1_000_000, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		"number"}, name, usage)
}

func durationVar(f *pflag.FlagSet, p *time.Duration, name string, b Bounds[time.Duration], usage string) {
	*p = b.Default
	f.Var(boundedFlag[time.Duration]{p, b.Least, b.Most, time.ParseDuration, "duration"}, name, usage)
}
