package study

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds a study file, in bytes, so that text from outside cannot
// occupy the parser for long.
const maxFile = 1 << 20

// maxDepth bounds the nesting of a study file; the deepest sensible one has 5.
const maxDepth = 16

type kind int

const (
	scalar kind = iota
	mapping
	sequence
	null
)

func (k kind) String() string {
	return [...]string{"a value", "a mapping", "a list", "nothing"}[k]
}

type position struct{ line, col int }

// node is a YAML value with its place in the file. Scalars keep the text they
// were written with, so that 0755, 1e6 and 10M reach the configuration as such.
type node struct {
	kind  kind
	pos   position
	text  string
	items []*node // of a sequence
	pairs []pair  // of a mapping, in file order
}

type pair struct {
	key string
	pos position // of the key
	val *node
}

// problem is one finding about a study file.
type problem struct {
	pos position
	msg string
}

func (p problem) at(name string) error {
	if p.pos.line == 0 {
		return fmt.Errorf("%s: %s", name, p.msg)
	}
	return fmt.Errorf("%s:%d:%d: %s", name, p.pos.line, p.pos.col, p.msg)
}

// readTree parses one YAML document into nodes. Anchors, aliases, tags and
// merge keys are refused: a study has no use for them and a plan must be
// readable as written.
func readTree(data []byte) (root *node, bad *problem) {
	if len(data) > maxFile {
		return nil, &problem{msg: fmt.Sprintf("read study: %d bytes, allowed are %d", len(data), maxFile)}
	}
	defer func() { // the YAML library is outside code fed with outside text
		if recover() != nil {
			root, bad = nil, &problem{msg: "read study: not valid YAML: look for a stray !, & or *"}
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxProblem(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			at := place(doc.Body)
			if second, bad := convert(doc.Body, 0); bad == nil {
				at = second.pos
			}
			return nil, &problem{pos: at, msg: "second document: a study is one YAML document"}
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &problem{msg: "read study: the file is empty"}
	}
	return convert(body, 0)
}

func syntaxProblem(err error) *problem {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil && syntax.GetToken().Position != nil {
		at := syntax.GetToken().Position
		return &problem{pos: position{at.Line, at.Column}, msg: "not valid YAML: " + syntax.GetMessage()}
	}
	return &problem{msg: fmt.Sprintf("not valid YAML: %v", err)}
}

func place(n ast.Node) position {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{}
	}
	return position{n.GetToken().Position.Line, n.GetToken().Position.Column}
}

func convert(n ast.Node, depth int) (*node, *problem) {
	if depth > maxDepth {
		return nil, &problem{pos: place(n), msg: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return convertMapping(n.Values, n, depth)
	case *ast.MappingValueNode:
		return convertMapping([]*ast.MappingValueNode{n}, n.Key, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, pos: place(n)}
		for _, v := range n.Values {
			item, bad := convert(v, depth+1)
			if bad != nil {
				return nil, bad
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.NullNode:
		return &node{kind: null, pos: place(n)}, nil
	case *ast.StringNode:
		return &node{pos: place(n), text: n.Value}, nil
	case *ast.LiteralNode:
		return &node{pos: place(n), text: n.Value.Value}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return &node{pos: place(n), text: n.GetToken().Value}, nil
	case nil:
		return &node{kind: null}, nil
	}
	return nil, &problem{pos: place(n), msg: fmt.Sprintf("%s not supported in a study: use plain values, lists and mappings", n.Type())}
}

func convertMapping(values []*ast.MappingValueNode, at ast.Node, depth int) (*node, *problem) {
	out := &node{kind: mapping, pos: place(at)}
	if len(values) > 0 {
		out.pos = place(values[0].Key)
	}
	seen := map[string]bool{}
	for _, v := range values {
		key, bad := convert(v.Key, depth+1)
		if bad != nil {
			return nil, bad
		}
		if key.kind != scalar {
			return nil, &problem{pos: place(v.Key), msg: "a key must be a plain word"}
		}
		if seen[key.text] {
			return nil, &problem{pos: key.pos, msg: fmt.Sprintf("key %q is there twice", key.text)}
		}
		seen[key.text] = true
		val, bad := convert(v.Value, depth+1)
		if bad != nil {
			return nil, bad
		}
		if val.kind == null {
			val.pos = key.pos // what isn't there has no place of its own
		}
		out.pairs = append(out.pairs, pair{key: key.text, pos: key.pos, val: val})
	}
	return out, nil
}
