package surface

import (
	"math"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// bigMember is the one member of the object that stands for an integer beyond
// ±2^53 in canonical form.
const bigMember = "$hallmark.int"

// maxNumber is the most bytes that a number is written with. No double needs
// more than 770 digits, and parsers disagree about exponents of absurd length.
const maxNumber = 1024

// digits are the parts of a number in JSON (RFC 8259, section 6), as they are written.
type digits struct {
	negative        bool
	whole, fraction string
	exponent        string // with "-" if it is negative, "" if there is none
}

// scanNumber reads a number without looking at its value.
func (p *parser) scanNumber() (d digits, _ *Error) {
	d.negative = p.skipByte('-')
	d.whole = p.skipDigits()
	if d.whole == "" || len(d.whole) > 1 && d.whole[0] == '0' {
		return d, p.syntaxError("a malformed number")
	}
	if p.skipByte('.') {
		if d.fraction = p.skipDigits(); d.fraction == "" {
			return d, p.syntaxError("no digits after the decimal point")
		}
	}
	if p.skipByte('e') || p.skipByte('E') {
		sign := ""
		if p.skipByte('-') {
			sign = "-"
		} else {
			p.skipByte('+')
		}
		if d.exponent = p.skipDigits(); d.exponent == "" {
			return d, p.syntaxError("no digits in the exponent")
		}
		d.exponent = sign + d.exponent
	}
	return d, nil
}

// parseNumber reads a number and gives its canonical spelling. A number is an IEEE
// 754 double spelt as RFC 8785 says, unless its exact value is an integer beyond
// ±2^53, which keeps all its digits.
func (p *parser) parseNumber() (value, *Error) {
	start := p.pos
	d, scanErr := p.scanNumber()
	if scanErr != nil {
		return value{}, scanErr
	}
	if p.mode == modeCheck {
		return value{kind: isNumber}, nil
	}
	if p.mode == modeExact {
		return p.exactNumber(p.src[start:p.pos])
	}
	if p.pos-start > maxNumber {
		return value{}, newError(ProblemNumber, "a number of %d bytes at byte %d, limit %d", p.pos-start, start,
			maxNumber)
	}
	f, err := strconv.ParseFloat(p.src[start:p.pos], 64)
	if err != nil { // the syntax is right, so it is the range
		return value{}, newError(ProblemNumber, "the number %s at byte %d is beyond IEEE 754 doubles",
			clip(p.src[start:p.pos], 40), start)
	}
	if math.Abs(f) >= 1<<53 {
		integer, exact := d.decimal()
		beyond := integer == maxInteger || isBeyond(integer)
		switch {
		case !exact && beyond:
			return value{}, newError(ProblemNumber, "the number %s at byte %d is beyond 2^53 and has a fraction",
				clip(p.src[start:p.pos], 40), start)
		case exact && beyond && integer != maxInteger:
			return p.bigInteger(d.negative, integer)
		}
	}
	text, err := jcs.NumberToJSON(f)
	if err != nil {
		return value{}, newError(ProblemNumber, "the number at byte %d has no canonical spelling", start)
	}
	return value{kind: isNumber, text: text}, nil
}

// isBeyond reports whether an integer of decimal digits without leading zeros is beyond 2^53.
func isBeyond(digits string) bool {
	return len(digits) > len(maxInteger) || len(digits) == len(maxInteger) && digits > maxInteger
}

// exactNumber is the canonical spelling of a number that RFC 8785 keeps; another is refused.
func (p *parser) exactNumber(s string) (value, *Error) {
	f, err := checkNumber(s)
	if err != nil {
		return value{}, newError(ProblemNumber, "%v", err)
	}
	text, err := jcs.NumberToJSON(f)
	if err != nil {
		return value{}, newError(ProblemNumber, "the number %s has no canonical spelling", clip(s, 40))
	}
	return value{kind: isNumber, text: text}, nil
}

// bigInteger is the value of an integer beyond ±2^53, by its digits.
func (p *parser) bigInteger(negative bool, digits string) (value, *Error) {
	if p.mode == modeStored {
		return value{}, newError(ProblemNotCanonical, "an integer beyond 2^53 is not written as %s", bigMember)
	}
	if p.digits += len(digits) + len(`{"$hallmark.int":"-"}`); p.digits > MaxSize {
		return value{}, newError(ProblemSize, "the digits of large integers take more than %d bytes", MaxSize)
	}
	if negative {
		digits = "-" + digits
	}
	return value{kind: isBig, text: digits}, nil
}

// toBigInteger turns an object with the member $hallmark.int into the integer it stands
// for.
func (v *value) toBigInteger() (value, *Error) {
	x := v.members[0].value
	digits := strings.TrimPrefix(x.text, "-")
	ok := len(v.members) == 1 && x.kind == isString && digits != "" && digits[0] != '0' &&
		strings.Trim(digits, "0123456789") == "" && len(digits) <= 309 && isBeyond(digits)
	if ok {
		_, err := strconv.ParseFloat(digits, 64) // 309 digits may still be too many
		ok = err == nil
	}
	if !ok {
		return value{}, newError(ProblemReserved, "%s does not hold the digits of an integer beyond 2^53", bigMember)
	}
	return value{kind: isBig, text: x.text}, nil
}

// decimal gives the digits of the integer part of a number between 2^53 and the
// largest double, and whether there is nothing after it.
func (d digits) decimal() (integer string, exact bool) {
	all := strings.TrimRight(d.whole+d.fraction, "0")
	// The value is a double and its digits are at most maxNumber, so the
	// exponent is small.
	e, _ := strconv.Atoi(d.exponent)
	point := len(d.whole) + e // where in all the decimal point stands
	if point < len(all) {
		return strings.TrimLeft(all[:max(point, 0)], "0"), false
	}
	return strings.TrimLeft(all+strings.Repeat("0", point-len(all)), "0"), true
}

// skipByte reads c if it is the next byte, and reports whether it was.
func (p *parser) skipByte(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// skipDigits reads decimal digits, possibly none.
func (p *parser) skipDigits() string {
	start := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.src[start:p.pos]
}
