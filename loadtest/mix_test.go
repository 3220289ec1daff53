package loadtest

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestParseMix(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		want Mix
	}{
		{"observe=10", Mix{StepObserve: 10}},
		{"observe=10, click=0,pipelined=3", Mix{StepObserve: 10, StepClick: 0, StepPipelined: 3}},
		{"", nil},
		{"observe", nil},
		{"observe=x", nil},
		{"dance=1", nil},
		{"observe=-1", nil},
		{"observe=0", nil},
	} {
		got, err := ParseMix(tc.in)
		if (err != nil) != (tc.want == nil) {
			t.Errorf("%q: %v", tc.in, err)
		}
		if tc.want != nil && cmp.Diff(tc.want, got) != "" {
			t.Errorf("%q: %v", tc.in, got)
		}
	}
}

func TestASeedDrawsTheSameStepsByWeight(t *testing.T) {
	t.Parallel()
	m := Mix{StepObserve: 3, StepClick: 1, StepFill: 0}
	draw := func() (steps []Step) {
		r := rand.New(rand.NewPCG(1, 2))
		for d := newDeck(m); len(steps) < 4000; {
			steps = append(steps, d.draw(r))
		}
		return steps
	}
	first := draw()
	if cmp.Diff(first, draw()) != "" {
		t.Error("two runs of a seed differ")
	}
	counts := map[Step]int{}
	for _, s := range first {
		counts[s]++
	}
	if counts[StepFill] > 0 || counts[StepObserve] < 2800 || counts[StepClick] < 800 {
		t.Errorf("%v", counts)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := Options{Tenant: "a", Agent: Access{URL: "nats://x"}, Operator: Access{URL: "nats://x"}}
	for name, change := range map[string]func(*Options){
		"":               func(*Options) {},
		"no tenant":      func(o *Options) { o.Tenant = "" },
		"a wildcard":     func(o *Options) { o.Tenant = "*" },
		"no url":         func(o *Options) { o.Operator.URL = "" },
		"no owner":       func(o *Options) { o.Owners = -1 },
		"all warm-up":    func(o *Options) { o.Warmup = o.Duration + DefaultDuration },
		"negative rate":  func(o *Options) { o.Rate = -1 },
		"site is no URL": func(o *Options) { o.SiteURL = "shop" },
		"empty mix":      func(o *Options) { o.Mix = Mix{} },
	} {
		o := good
		change(&o)
		if _, err := o.withDefaults(); (err != nil) != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSiteKnowsItsWayAround(t *testing.T) {
	t.Parallel()
	shop, made := newSite("http://127.0.0.1:8080/"), newSite("")
	for _, tc := range []struct {
		site       site
		page, href string
		want       bool
	}{
		{shop, "http://127.0.0.1:8080/", "/product/LI-101", true},
		{shop, "http://127.0.0.1:8080/", "http://127.0.0.1:8080/category/all", true},
		{shop, "http://127.0.0.1:8080/category/all", "?page=2", true},
		{shop, "http://127.0.0.1:8080/", "/logout", false},
		{shop, "http://127.0.0.1:8080/", "/dialogs", false},
		{shop, "http://127.0.0.1:8080/", "http://elsewhere.example/product/LI-101", false},
		{shop, "http://127.0.0.1:8080/", "javascript:alert(1)", false},
		{made, simulatedURL + "/", simulatedURL + "/1", true},
		{made, simulatedURL + "/", "http://other.invalid/1", false},
	} {
		if got := tc.site.leadsOn(tc.page, tc.href); got != tc.want {
			t.Errorf("%s on %s: %v", tc.href, tc.page, got)
		}
	}
	o := &protocol.Observation{URL: "http://127.0.0.1:8080/", Elements: []protocol.Element{
		{Ref: "e1", Role: "link", Href: "/logout"}, {Ref: "e2", Role: "searchbox"}, {Ref: "e3", Role: "link", Href: "/product/LI-101"},
	}}
	r := rand.New(rand.NewPCG(1, 2))
	if shop.searchField(o) != "e2" || shop.link(o, r) != "e3" {
		t.Errorf("%s, %s", shop.searchField(o), shop.link(o, r))
	}
	if o.Elements = o.Elements[:1]; shop.searchField(o) != "" || shop.link(o, r) != "" {
		t.Error("found what is not there")
	}
}
