package model

// Interned numbers values in the order of their first appearance.
type Interned[T comparable] struct {
	Number map[T]int32
	List   []T
}

// Of gives the number of a value, and whether it is new.
func (n *Interned[T]) Of(x T) (i int32, isNew bool) {
	if i, ok := n.Number[x]; ok {
		return i, false
	}
	if n.Number == nil {
		n.Number = make(map[T]int32)
	}
	n.Number[x] = int32(len(n.List))
	n.List = append(n.List, x)
	return n.Number[x], true
}
