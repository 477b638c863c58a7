package gymconfig

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// arithmetic is a resolver of NeMo-RL with two arguments.
func arithmetic(of func(r *resolver, a, b any) (any, error)) resolve {
	return func(r *resolver, _ *node, args []any) (any, error) {
		switch {
		case len(args) != 2:
			return nil, fmt.Errorf("it takes 2 arguments, and has %d", len(args))
		case anyGyms(args):
			return nil, errGyms
		}
		return of(r, args[0], args[1])
	}
}

func cannot(what string, a, b any) error {
	return fmt.Errorf("cannot %s %s and %s", what, describe(a), describe(b))
}

// numbers are both arguments as ints where both are, else as floats.
type numbers struct {
	a, b       *big.Int
	x, y       float64
	areInts    bool
	areNumbers bool
}

func asNumbers(a, b any) numbers {
	var n numbers
	var first, second bool
	n.a, first = integer(a)
	n.b, second = integer(b)
	n.areInts = first && second
	n.x, first = float(a)
	n.y, second = float(b)
	n.areNumbers = first && second
	return n
}

func add(r *resolver, a, b any) (any, error) {
	n := asNumbers(a, b)
	s, isString := a.(string)
	t, isStringToo := b.(string)
	l, isList := a.(*node)
	m, isListToo := b.(*node)
	switch {
	case n.areInts:
		return new(big.Int).Add(n.a, n.b), nil
	case n.areNumbers:
		return n.x + n.y, nil
	case isString && isStringToo:
		return s + t, nil
	case isList && isListToo && l.kind == listKind && m.kind == listKind:
		return r.concatenate(l, m)
	}
	return nil, cannot("add", a, b)
}

// concatenate joins two lists; what their items refer to is looked up on the way.
func (r *resolver) concatenate(a, b *node) (any, error) {
	out := &node{kind: listKind, plain: a.plain && b.plain, parent: a.parent}
	for _, item := range slices.Concat(a.items, b.items) {
		value, err := r.value(item)
		if err != nil {
			return nil, err
		}
		container, is := value.(*node)
		switch {
		case is && out.plain:
			out.items = append(out.items, container)
		case is:
			out.add(container.clone())
		default:
			out.add(&node{kind: scalarKind, scalar: value, literal: true})
		}
	}
	return out, nil
}

// longestString bounds what a string or a list times a number may become.
const longestString = 1 << 20

func multiply(_ *resolver, a, b any) (any, error) {
	n := asNumbers(a, b)
	switch {
	case n.areInts:
		return new(big.Int).Mul(n.a, n.b), nil
	case n.areNumbers:
		return n.x * n.y, nil
	}
	if _, is := integer(a); is {
		a, b = b, a
	}
	times, isInt := integer(b)
	s, isString := a.(string)
	l, isList := a.(*node)
	switch {
	case isInt && isString:
		count, err := repetitions(times, len(s))
		return strings.Repeat(s, count), err
	case isInt && isList && l.kind == listKind && l.plain:
		count, err := repetitions(times, len(l.items))
		out := &node{kind: listKind, plain: true, parent: l.parent}
		for range count {
			out.items = append(out.items, l.items...)
		}
		return out, err
	}
	return nil, cannot("multiply", a, b)
}

// repetitions is how often something of that size is repeated.
func repetitions(times *big.Int, size int) (int, error) {
	switch {
	case times.Sign() <= 0 || size == 0:
		return 0, nil
	case !times.IsInt64() || times.Int64() > longestString/int64(size):
		return 0, errors.New("the product becomes too long")
	}
	return int(times.Int64()), nil
}

// divide is the true division of Python: of two ints it is a float.
func divide(_ *resolver, a, b any) (any, error) {
	n := asNumbers(a, b)
	switch {
	case !n.areNumbers:
		return nil, cannot("divide", a, b)
	case n.y == 0:
		return nil, errors.New("a division by zero")
	case n.areInts:
		quotient, _ := new(big.Rat).SetFrac(n.a, n.b).Float64()
		if math.IsInf(quotient, 0) {
			return nil, errors.New("the quotient is too large for a float")
		}
		return quotient, nil
	}
	return n.x / n.y, nil
}

// larger is the first of the two unless the second is larger.
func larger(_ *resolver, a, b any) (any, error) {
	n := asNumbers(a, b)
	s, isString := a.(string)
	t, isStringToo := b.(string)
	var second bool
	switch {
	case n.areInts:
		second = n.b.Cmp(n.a) > 0
	case n.areNumbers:
		second = n.y > n.x
	case isString && isStringToo:
		second = t > s // UTF-8 sorts as code points do
	default:
		return nil, cannot("compare", a, b)
	}
	if second {
		return b, nil
	}
	return a, nil
}
