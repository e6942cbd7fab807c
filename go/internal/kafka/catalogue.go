package kafka

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The catalogue is authored once, for Rust, Go and the documentation; its head
// comment explains the columns.
//
//go:embed options.tsv
var catalogueText string

const enginePart = "engine"

type optionKind int

const (
	kindInt optionKind = iota
	kindBool
	kindEnum
	kindList
	kindString
	kindPath
	kindSecret
)

var optionKinds = map[string]optionKind{
	"int": kindInt, "bool": kindBool, "enum": kindEnum, "list": kindList,
	"string": kindString, "path": kindPath, "secret": kindSecret,
}

// span is a range of integers, both ends included.
type span struct{ min, max int64 }

// option is one line of the catalogue.
type option struct {
	key     string
	aliases []string
	kind    optionKind
	spans   []span   // int: the value; string, path, secret: the length in bytes
	words   []string // enum, list
	unit    string
	def     string // the engine's default; "" means unset
	parts   []string
	remedy  string // description; for a refused key what to do instead
}

func (o *option) forEngine() bool { return slices.Contains(o.parts, enginePart) }
func (o *option) refused() bool   { return len(o.parts) == 1 && o.parts[0] == "-" }

// allowed renders the permitted values for an error message.
func (o *option) allowed() string {
	switch o.kind {
	case kindBool:
		return "true or false"
	case kindEnum:
		return "one of " + strings.Join(o.words, ", ")
	case kindList:
		return "a comma list of " + strings.Join(o.words, ", ")
	case kindPath:
		return "the name of a file"
	}
	ranges := make([]string, len(o.spans))
	for i, s := range o.spans {
		if s.min == s.max {
			ranges[i] = strconv.FormatInt(s.min, 10)
		} else {
			ranges[i] = fmt.Sprintf("%d to %d", s.min, s.max)
		}
	}
	text := strings.Join(ranges, " or ")
	if o.unit != "" && o.unit != "count" {
		text += " " + o.unit
	}
	return text
}

// normalize checks a value and returns it as the catalogue writes it. Its
// errors never contain the value of a secret.
func (o *option) normalize(value string) (string, error) {
	if strings.ContainsRune(value, 0) {
		return "", configError("option %s: the value contains a NUL character: remove it", o.key)
	}
	switch o.kind {
	case kindInt:
		text := strings.TrimSpace(value)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", configError("option %s: %q is not a whole number; allowed: %s", o.key, clip(value, 64), o.allowed())
		}
		if !o.within(n) {
			return "", configError("option %s: %d is out of range; allowed: %s", o.key, n, o.allowed())
		}
		return strconv.FormatInt(n, 10), nil
	case kindBool:
		text := strings.ToLower(strings.TrimSpace(value))
		if text != "true" && text != "false" {
			return "", configError("option %s: %q is not a truth value; allowed: %s", o.key, clip(value, 64), o.allowed())
		}
		return text, nil
	case kindEnum:
		word, ok := o.word(value)
		if !ok {
			return "", configError("option %s: %q is unknown; allowed: %s", o.key, clip(value, 64), o.allowed())
		}
		return word, nil
	case kindList:
		return o.normalizeList(value)
	case kindPath:
		if strings.TrimSpace(value) == "" {
			return "", configError("option %s: the value is empty; allowed: %s", o.key, o.allowed())
		}
		return value, nil
	}
	if len(o.spans) > 0 && !o.within(int64(len(value))) {
		return "", configError("option %s: the value is %d bytes long; allowed: %s", o.key, len(value), o.allowed())
	}
	return value, nil
}

func (o *option) normalizeList(value string) (string, error) {
	var words []string
	for item := range strings.SplitSeq(value, ",") {
		word, ok := o.word(item)
		if !ok {
			return "", configError("option %s: %q is unknown; allowed: %s", o.key, clip(strings.TrimSpace(item), 64), o.allowed())
		}
		if slices.Contains(words, word) {
			return "", configError("option %s: %q is named twice; name it once", o.key, word)
		}
		words = append(words, word)
	}
	return strings.Join(words, ","), nil
}

func (o *option) word(value string) (string, bool) {
	value = strings.TrimSpace(value)
	for _, word := range o.words {
		if strings.EqualFold(word, value) {
			return word, true
		}
	}
	return "", false
}

func (o *option) within(n int64) bool {
	return slices.ContainsFunc(o.spans, func(s span) bool { return s.min <= n && n <= s.max })
}

// catalogue is the parsed list, in its order.
type catalogue struct {
	options []*option
	byName  map[string]*option // keys and aliases
}

// loadCatalogue parses the embedded list once. It cannot fail on the list of
// this source tree, which a test proves; an error is reported, not a panic,
// because this code runs inside a host.
var loadCatalogue = sync.OnceValues(func() (*catalogue, error) {
	return parseCatalogue(catalogueText)
})

const catalogueColumns = 8

func parseCatalogue(text string) (*catalogue, error) {
	c := &catalogue{byName: make(map[string]*option)}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		o, err := parseOption(strings.Split(line, "\t"))
		if err != nil {
			return nil, configError("catalogue of options, line %d: %v", number, err)
		}
		for _, name := range append([]string{o.key}, o.aliases...) {
			if c.byName[name] != nil {
				return nil, configError("catalogue of options, line %d: %s is there twice", number, name)
			}
			c.byName[name] = o
		}
		c.options = append(c.options, o)
	}
	return c, nil
}

func parseOption(columns []string) (*option, error) {
	if len(columns) != catalogueColumns {
		return nil, fmt.Errorf("%d columns instead of %d", len(columns), catalogueColumns)
	}
	kind, ok := optionKinds[columns[2]]
	if !ok {
		return nil, fmt.Errorf("unknown type %q", columns[2])
	}
	o := &option{key: columns[0], kind: kind, unit: columns[4], remedy: columns[7]}
	if columns[1] != "" {
		o.aliases = strings.Split(columns[1], ",")
	}
	for _, part := range strings.Split(columns[6], ",") {
		o.parts = append(o.parts, strings.TrimSpace(part))
	}
	o.def = engineDefault(columns[5])
	if columns[3] == "" {
		return o, nil
	}
	for _, item := range strings.Split(columns[3], "|") {
		if kind == kindBool || kind == kindEnum || kind == kindList {
			o.words = append(o.words, item)
			continue
		}
		s, err := parseSpan(item)
		if err != nil {
			return nil, err
		}
		o.spans = append(o.spans, s)
	}
	return o, nil
}

func parseSpan(text string) (span, error) {
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
		high = low
	}
	lowest, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return span{}, fmt.Errorf("range %q: %w", text, err)
	}
	highest, err := strconv.ParseInt(high, 10, 64)
	if err != nil {
		return span{}, fmt.Errorf("range %q: %w", text, err)
	}
	if lowest > highest || highest > math.MaxInt32 {
		return span{}, fmt.Errorf("range %q is empty or exceeds 32 bits", text)
	}
	return span{lowest, highest}, nil
}

// engineDefault picks the engine's value of a default column, which is one
// value for all parts or a list of part=value.
func engineDefault(column string) string {
	if !strings.Contains(column, "=") {
		return column
	}
	for _, item := range strings.Fields(column) {
		if part, value, _ := strings.Cut(item, "="); part == enginePart {
			return value
		}
	}
	return ""
}

// find returns the option of a key that the engine accepts, or an error with
// the remedy.
func (c *catalogue) find(key string) (*option, error) {
	o := c.byName[key]
	switch {
	case o == nil:
		return nil, configError("unknown option %q: did you mean %s?", clip(key, 128), c.nearest(key))
	case o.refused():
		return nil, configError("option %s is not accepted: %s", key, o.remedy)
	case !o.forEngine():
		return nil, configError("option %s does not apply to the engine, only to %s: remove it", key, strings.Join(o.parts, " and "))
	}
	return o, nil
}

// nearest returns the engine's key with the smallest edit distance.
func (c *catalogue) nearest(key string) string {
	key = clip(strings.ToLower(key), 128)
	best, distance := "", math.MaxInt
	for _, o := range c.options {
		if !o.forEngine() {
			continue
		}
		for _, name := range append([]string{o.key}, o.aliases...) {
			if d := editDistance(key, name); d < distance {
				best, distance = o.key, d
			}
		}
	}
	return best
}

// editDistance is Levenshtein's: the least number of bytes inserted, removed
// or replaced.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above+1, row[j]+1)
			diagonal = above
		}
	}
	return row[len(b)]
}
