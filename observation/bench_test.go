package observation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// BenchmarkObserve is one observation of a page of so many elements, its layout
// dirtied before each.
func BenchmarkObserve(b *testing.B) {
	for _, n := range []int{100, 1_500, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := context.Background()
			page, observer := pagetest.Open(b), observation.New(1)
			var html strings.Builder
			for i := range n / 5 {
				fmt.Fprintf(&html, `<li><h3>Item %d</h3><a href="/i/%d">Title of item %d</a><p>Some text about it</p><button>Buy</button></li>`, i, i, i)
			}
			page.Load(ctx, b, `<ul id=l>`+html.String()+`</ul>`)
			b.ResetTimer()
			for b.Loop() {
				page.Eval(ctx, b, "l.style.width=(400+Math.random()*100)+'px';0")
				if _, err := observer.Observe(ctx, page, (*protocol.ObserveOptions)(nil).Budget()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
