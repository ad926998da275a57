package report

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/tools/measure"
)

// written returns the page of r.
func written(t *testing.T, r *Results) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// carried returns the data that a page carries.
func carried(t *testing.T, page string) any {
	t.Helper()
	_, text, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	if !ok {
		t.Fatal("the page carries no data")
	}
	text, _, _ = strings.Cut(text, "</script>")
	var data any
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// lookup follows a path such as runs[3].latency_us.p50.
func lookup(data any, path string) (any, error) {
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch v := data.(type) {
		case map[string]any:
			data = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil, fmt.Errorf("%s: no element %s", path, key)
			}
			data = v[i]
		default:
			return nil, fmt.Errorf("%s: nothing at %s", path, key)
		}
	}
	return data, nil
}

var (
	rowPattern  = regexp.MustCompile(`(?s)<tr data-row="([^"]+)">(.*?)</tr>`)
	cellPattern = regexp.MustCompile(`data-field="([^"]+)" data-scale="([^"]+)">([^<]*)<`)
	markPattern = regexp.MustCompile(`data-row="([^"]*)" data-tip="([^"]*)"`)
)

// Every figure of a table is what the row of the data that it names says.
func TestFiguresAreThoseOfTheData(t *testing.T) {
	for name, r := range map[string]*Results{"default": sample(), "sweep": sampleSweep()} {
		t.Run(name, func(t *testing.T) {
			page := written(t, r)
			data := carried(t, page)
			figures := 0
			for _, row := range rowPattern.FindAllStringSubmatch(page, -1) {
				for _, c := range cellPattern.FindAllStringSubmatch(row[2], -1) {
					figures++
					path := row[1] + "." + c[1]
					value, err := lookup(data, path)
					if err != nil {
						t.Fatal(err)
					}
					if err := same(c[3], c[2], value); err != nil {
						t.Errorf("%s: %v", path, err)
					}
				}
			}
			if figures < 100 {
				t.Errorf("only %d figures were found", figures)
			}
		})
	}
}

// same compares a figure as it is printed with the value times scale.
func same(text, scale string, value any) error {
	switch v := value.(type) {
	case []any: // shares
		if want := strings.Trim(fmt.Sprint(v), "[]"); text != want {
			return fmt.Errorf("%q, but the data has %q", text, want)
		}
	case float64:
		got, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		s, err := strconv.ParseFloat(scale, 64)
		if err != nil {
			return err
		}
		_, decimals, _ := strings.Cut(text, ".")
		if unit := math.Pow10(-len(decimals)); math.Abs(got-v*s) > 0.5001*unit {
			return fmt.Errorf("%s, but the data has %v", text, v*s)
		}
	case nil:
		if text != "–" {
			return fmt.Errorf("%q, but the data has nothing", text)
		}
	default:
		return fmt.Errorf("%q, but the data has %v", text, v)
	}
	return nil
}

// Every mark of a plot names its row, and its tip says a figure of that row.
func TestMarksNameTheirRows(t *testing.T) {
	number := regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
	for name, r := range map[string]*Results{"default": sample(), "sweep": sampleSweep()} {
		t.Run(name, func(t *testing.T) {
			page := written(t, r)
			data := carried(t, page)
			marks := 0
			for _, m := range markPattern.FindAllStringSubmatch(page, -1) {
				if m[1] == "" {
					continue // the key of a legend
				}
				marks++
				row, err := lookup(data, m[1])
				if err != nil {
					t.Fatal(err)
				}
				tip := html.UnescapeString(m[2])
				fix, _ := row.(map[string]any)["fix"].(string)
				if !strings.Contains(tip, fix) || !number.MatchString(tip) {
					t.Errorf("%s: the tip %q is not about it", m[1], tip)
				}
			}
			if marks < 18 {
				t.Errorf("only %d marks were found", marks)
			}
		})
	}
}

// Behind each plot stands a table, and a screen reader hears what it shows.
func TestPlotsHaveATableAndALabel(t *testing.T) {
	for _, f := range sample().figures() {
		if len(f.Table.Rows) == 0 {
			t.Errorf("%s: no table", f.ID)
		}
		for _, p := range f.Panels {
			if !strings.Contains(string(p.SVG), `role="img" aria-label="`) {
				t.Errorf("%s, %s: no label", f.ID, p.Title)
			}
		}
	}
	var ids []string
	for _, f := range sample().figures() {
		ids = append(ids, f.ID)
	}
	if diff := cmp.Diff([]string{"scaling", "rates", "eagain", "shares", "latency"}, ids); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// The page needs nothing but itself.
func TestPageNeedsNoNetwork(t *testing.T) {
	page := written(t, sample())
	for _, loads := range []string{"http:", "https:", "src=", "@import", "url(", "fetch("} {
		if strings.Contains(page, loads) {
			t.Errorf("the page has %q in it", loads)
		}
	}
	for _, attr := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(attr[1], "#") && attr[1] != "data:," {
			t.Errorf("the page refers to %q", attr[1])
		}
	}
}

// What is measured may be called anything.
func TestNamesCannotEndTheScript(t *testing.T) {
	r := sample()
	const evil = `</script><b>"'&`
	r.Runs[0].Disagreements = []string{evil}
	r.Runs[0].Fix = evil
	page := written(t, r)
	if strings.Contains(page, "<b>") {
		t.Error("a name became an element")
	}
	if fix, err := lookup(carried(t, page), "runs[0].fix"); fix != evil || err != nil {
		t.Errorf("the data has %q, %v", fix, err)
	}
}

func TestMissingTimelineSaysWhatIsMissing(t *testing.T) {
	r := sample()
	r.Timeline, r.TimelineMissing = nil, "no tracepoints: mount them"
	if page := written(t, r); !strings.Contains(page, "There is no timeline: no tracepoints: mount them.") {
		t.Error("the page does not say so")
	}
	r.TimelineMissing = ""
	if page := written(t, r); strings.Contains(page, `id="timeline"`) {
		t.Error("the page speaks of a timeline that nobody asked for")
	}
}

// A run of one fix at one rate makes a page, too; what it says nothing about
// is left out.
func TestPageOfOneRun(t *testing.T) {
	r := sample()
	r.Runs, r.Scaling, r.Rates, r.Timeline = []measure.Run{*find(r.Runs, "none", 100)}, nil, nil, nil
	page := written(t, r)
	if strings.Contains(page, `id="scaling"`) || !strings.Contains(page, `id="rates"`) {
		t.Error("the wrong figures are left out")
	}
	r.Runs = nil
	written(t, r)
}
