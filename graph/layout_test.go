package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// runs are all shapes that a picture must cope with.
func runs(t *testing.T) map[string]*v1alpha1.Run {
	t.Helper()
	out := map[string]*v1alpha1.Run{
		"disagg-jobset": example(t, "disagg-jobset.yaml"), "disagg-raycluster": example(t, "disagg-raycluster.yaml"),
		"rich": loaded(t, rich), "awkward": loaded(t, awkward), "many keys": manyKeys(t), "many readers": manyReaders(t),
	}
	for clusters := 1; clusters <= 8; clusters++ {
		for _, groups := range []int{0, 1, 8, 9, 100} {
			out[fmt.Sprintf("%d clusters of %d groups", clusters, groups)] = fleet(t, clusters, groups, short)
		}
		out[fmt.Sprintf("%d clusters with long names", clusters)] = fleet(t, clusters, 3, long)
	}
	for _, gang := range []v1alpha1.Gang{v1alpha1.GangNone, v1alpha1.GangCluster, v1alpha1.GangRun} {
		for _, backend := range []v1alpha1.Backend{v1alpha1.BackendJobSet, v1alpha1.BackendRayCluster, v1alpha1.BackendRayJob} {
			run := loaded(t, rich)
			run.Spec.Scheduling.Gang, run.Spec.Backend = gang, backend
			out[fmt.Sprintf("gang %s on %s", gang, backend)] = run
		}
	}
	return out
}

// manyKeys has a head that publishes more than its box is high.
func manyKeys(t *testing.T) *v1alpha1.Run {
	t.Helper()
	run := loaded(t, rich)
	for i := range 25 {
		run.Spec.Clusters[2].Publish = append(run.Spec.Clusters[2].Publish, v1alpha1.Publish{Key: fmt.Sprintf("key-%d", i), URL: "http://x"})
	}
	return run
}

// manyReaders have a line each.
func manyReaders(t *testing.T) *v1alpha1.Run {
	t.Helper()
	run := fleet(t, 2, mergeAbove, short)
	for i := range run.Spec.Clusters {
		for j := range run.Spec.Clusters[i].Workers {
			run.Spec.Clusters[i].Workers[j].Setup = "registry wait shared c0-key"
		}
	}
	return run
}

func (r rect) overlaps(other rect) bool {
	return r.x < other.right() && other.x < r.right() && r.y < other.bottom() && other.y < r.bottom()
}

func (r rect) holds(inner rect) bool {
	return r.x <= inner.x && inner.right() <= r.right() && r.y <= inner.y && inner.bottom() <= r.bottom()
}

// area of a text, with what hangs below the base line.
func (t text) area() rect {
	return rect{t.at.x, t.at.y - t.size*4/5, widthOf(t.words, t.size, t.bold), t.size}
}

// area of a stretch of a line.
func stretch(a, b point) rect {
	return rect{min(a.x, b.x), min(a.y, b.y), max(a.x-b.x, b.x-a.x), max(a.y-b.y, b.y-a.y)}
}

func TestNothingOverlapsAndAllTextsFit(t *testing.T) {
	t.Parallel()
	for name, run := range runs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := layOut(Of(run))
			page := rect{0, 0, d.width, d.height}
			texts := append([]text(nil), d.texts...)
			for i, b := range d.boxes {
				for _, other := range d.boxes[i+1:] {
					require.False(t, b.rect.overlaps(other.rect), "%s and %s", b.id, other.id)
				}
			}
			for i, frame := range d.frames {
				for _, other := range d.frames[i+1:] {
					apart := !frame.rect.overlaps(other.rect)
					require.True(t, apart || frame.rect.holds(other.rect) || other.rect.holds(frame.rect), "%s and %s", frame.id, other.id)
				}
			}
			for _, b := range append(append([]box(nil), d.frames...), d.boxes...) {
				require.True(t, page.holds(b.rect), b.id)
				for _, text := range b.texts {
					require.True(t, b.rect.holds(text.area()), "%q in %s", text.words, b.id)
				}
				texts = append(texts, b.texts...)
			}
			for _, item := range d.legend {
				texts = append(texts, item.text)
			}
			for i, text := range texts {
				require.True(t, page.holds(text.area()), text.words)
				for _, other := range texts[i+1:] {
					require.False(t, text.area().overlaps(other.area()), "%q and %q", text.words, other.words)
				}
			}
		})
	}
}

func TestLinesKeepOutOfBoxesAndTexts(t *testing.T) {
	t.Parallel()
	for name, run := range runs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := layOut(Of(run))
			var obstacles []box
			for _, b := range d.boxes {
				obstacles = append(obstacles, box{id: b.id, rect: rect{b.rect.x + 1, b.rect.y + 1, b.rect.w - 2, b.rect.h - 2}})
			}
			for _, frame := range d.frames {
				for _, text := range frame.texts {
					obstacles = append(obstacles, box{id: text.words, rect: text.area()})
				}
			}
			for _, text := range d.texts {
				obstacles = append(obstacles, box{id: text.words, rect: text.area()})
			}
			for _, w := range d.wires {
				for i := 1; i < len(w.points); i++ {
					a, b := w.points[i-1], w.points[i]
					require.True(t, a.x == b.x || a.y == b.y, "%v is not straight", w)
					along := stretch(a, b)
					along.w, along.h = max(1, along.w), max(1, along.h)
					for _, obstacle := range obstacles {
						require.False(t, along.overlaps(obstacle.rect), "%s %v meets %s", w.kind, w.points, obstacle.id)
					}
				}
			}
		})
	}
}

func TestEveryEdgeIsDrawnFromAnEndToTheOther(t *testing.T) {
	t.Parallel()
	for name, run := range runs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := Of(run)
			d := layOut(g)
			places := map[string]rect{}
			for _, b := range append(append([]box(nil), d.frames...), d.boxes...) {
				places[b.id] = b.rect
			}
			drawn := map[Edge]bool{}
			for _, w := range d.wires {
				for _, edge := range w.edges {
					drawn[edge] = true
				}
				ends := []point{w.points[0], w.points[len(w.points)-1]}
				touched := false
				for _, edge := range w.edges {
					for _, place := range []rect{places[edge.From], places[edge.To]} {
						touched = touched || place.holds(rect{ends[0].x, ends[0].y, 0, 0}) || place.holds(rect{ends[1].x, ends[1].y, 0, 0})
					}
				}
				require.True(t, touched, "%s %v", w.kind, w.points)
			}
			for _, edge := range g.Edges {
				require.True(t, drawn[edge], "%v", edge)
			}
		})
	}
}

func TestTextsAreBrokenWhereTheyCanBe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		width      int
		want       []string
	}{
		{"a text that fits stays whole", "a b", 100, []string{"a b"}},
		{"an empty text is one line", "", 100, []string{""}},
		{"blanks at a break are dropped", "aaaa bbbb", 40, []string{"aaaa", "bbbb"}},
		{"names break behind punctuation", "aaaa-bbbb_cccc", 40, []string{"aaaa-", "bbbb_", "cccc"}},
		{"a word that is too long breaks anywhere", "aaaaaaaaaa", 40, []string{"aaaaa", "aaaaa"}},
		{"a letter wider than the line is a line", "aa", 1, []string{"a", "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := wrap(tt.text, tt.width, lineSize, false)
			require.Equal(t, tt.want, lines)
			require.Equal(t, strings.ReplaceAll(tt.text, " ", ""), strings.ReplaceAll(strings.Join(lines, ""), " ", ""), "nothing is lost")
		})
	}
}
