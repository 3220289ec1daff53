package protocol_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestEnvelopeLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fields string
		ok           bool
	}{
		{"defaults", ``, true},
		{"longest queue deadline", `,"queue_deadline_ms":900000`, true},
		{"longer queue deadline", `,"queue_deadline_ms":900001`, false},
		{"negative queue deadline", `,"queue_deadline_ms":-1`, false},
		{"longest budget", `,"budget_ms":600000`, true},
		{"longer budget", `,"budget_ms":600001`, false},
		{"negative budget", `,"budget_ms":-1`, false},
		{"fraction of a millisecond", `,"budget_ms":1.5`, false},
		// Times a million, for nanoseconds, this does not fit 64 bits.
		{"queue deadline that overflows", fmt.Sprintf(`,"queue_deadline_ms":%d`, math.MaxInt64), false},
		{"budget that overflows", fmt.Sprintf(`,"budget_ms":%d`, math.MaxInt64), false},
		{"budget that overflows to a small one", `,"budget_ms":18446744073710`, false},
		{"all of an observation", `,"observe":{"mode":"document","max_text_chars":12000,"max_elements":100}`, true},
		{"nothing of an observation", `,"observe":{"max_text_chars":0,"max_elements":0}`, true},
		{"a difference", `,"observe":{"since":"o-1-5"}`, true},
		{"a difference to nothing", `,"observe":{"since":"e5"}`, false},
		{"unknown mode", `,"observe":{"mode":"everything"}`, false},
		{"too much text", `,"observe":{"max_text_chars":12001}`, false},
		{"too many elements", `,"observe":{"max_elements":101}`, false},
		{"negative elements", `,"observe":{"max_elements":-1}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.ParseAction([]byte(`{"v":1,"kind":"observe"`+tt.fields+`}`), protocol.LaneQueue)
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	var r protocol.Request
	if r.QueueDeadline() != 5*time.Minute || r.Budget() != time.Minute {
		t.Errorf("defaults are %s and %s", r.QueueDeadline(), r.Budget())
	}
	r = protocol.Request{QueueDeadlineMS: 1, BudgetMS: 2}
	if r.QueueDeadline() != time.Millisecond || r.Budget() != 2*time.Millisecond {
		t.Errorf("got %s and %s", r.QueueDeadline(), r.Budget())
	}
}

// TestResultsOutliveWhatMayAskForThem: the done ring and the stored result decide
// what was answered, so a result must live as long as its request can come again.
func TestResultsOutliveWhatMayAskForThem(t *testing.T) {
	t.Parallel()
	if need := protocol.ResendHorizon + protocol.MaxQueueDeadline + protocol.MaxRunBudget; protocol.ResultRetention < need {
		t.Errorf("results live %s, requests %s", protocol.ResultRetention, need)
	}
	if protocol.ActionRetention <= protocol.MaxQueueDeadline+protocol.MaxRunBudget {
		t.Error("the stream's age would end requests")
	}
	if protocol.MaxScreenshotInline*4/3 > protocol.MaxResultBytes*3/4 {
		t.Error("a picture in base64 leaves no room for the rest of a result")
	}
}

func TestObserveBudget(t *testing.T) {
	t.Parallel()
	seven := 7
	tests := []struct {
		name string
		in   *protocol.ObserveOptions
		want protocol.ObserveBudget
	}{
		{"nothing said", nil, protocol.ObserveBudget{Mode: "summary", TextChars: 4000, Elements: 40, MaxTier: 3}},
		{"empty", &protocol.ObserveOptions{}, protocol.ObserveBudget{Mode: "summary", TextChars: 4000, Elements: 40, MaxTier: 3}},
		{"interactive", &protocol.ObserveOptions{Mode: "interactive"}, protocol.ObserveBudget{Mode: "interactive", Elements: 100, MaxTier: 5}},
		{"document", &protocol.ObserveOptions{Mode: "document"}, protocol.ObserveBudget{Mode: "document", TextChars: 12000, Elements: 20, MaxTier: 2}},
		{"own text", &protocol.ObserveOptions{Mode: "interactive", MaxTextChars: &seven}, protocol.ObserveBudget{Mode: "interactive", TextChars: 7, Elements: 100, MaxTier: 5}},
		{"own elements", &protocol.ObserveOptions{MaxElements: &seven}, protocol.ObserveBudget{Mode: "summary", TextChars: 4000, Elements: 7, MaxTier: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.in.Budget()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// argsCases are, for every kind, args that are good and args that are not.
var argsCases = map[protocol.Kind]struct{ good, bad []string }{
	protocol.KindOpen: {
		[]string{`{"url":"https://a.example/"}`, `{"url":"about:blank"}`},
		[]string{``, `null`, `{}`, `{"url":""}`, `{"url":"  "}`, `{"url":7}`, `{"url":"` + strings.Repeat("a", 8193) + `"}`, `"https://a.example"`, `[]`},
	},
	protocol.KindObserve: {
		[]string{
			``, `null`, `{}`, `{"element_ref":"@e1"}`, `{"group_ref":"g2"}`, `{"frame_id":"8A1B"}`, `{"search":"Total","role":"link"}`,
			`{"element_ref":"e1","search":"` + strings.Repeat("é", 200) + `"}`,
		},
		[]string{
			`{"element_ref":"#main"}`, `{"element_ref":1}`, `{"element_ref":"g1"}`, `{"group_ref":"e1"}`, `{"element_ref":"e1","frame_id":"F"}`,
			`{"element_ref":"e1","group_ref":"g1"}`, `{"frame_id":"a b"}`, `{"role":"But ton"}`, `{"search":"  "}`, `{"search":"` + strings.Repeat("é", 201) + `"}`,
		},
	},
	protocol.KindObserveNext: {
		[]string{`{"continuation":"c-1-5"}`, `{"continuation":"c-0-1"}`},
		[]string{``, `{}`, `{"continuation":""}`, `{"continuation":"c-1-0"}`, `{"continuation":"o-1-5"}`, `{"continuation":" c-1-5"}`, `{"continuation":5}`},
	},
	protocol.KindTabs: {
		[]string{`{"action":"list"}`, `{"action":"new","url":"https://a.example/"}`, `{"action":"select","index":0}`, `{"action":"close"}`},
		[]string{``, `{}`, `{"action":"switch"}`, `{"action":"list","index":1}`, `{"action":"close","index":-1}`, `{"action":"select","url":"https://a.example/"}`, `{"action":"new","url":"` + strings.Repeat("a", 8193) + `"}`},
	},
	protocol.KindClick: {
		[]string{
			`{"element_ref":"e1"}`, `{"element_ref":"ref=e1","observation_id":"o-1-2"}`, `{"element_ref":"e1","button":"right","count":1}`,
			`{"element_ref":"e1","button":"middle","count":3,"modifiers":["Control","Shift"],"offset":{"x":0,"y":12.5}}`, `{"element_ref":"e1","modifiers":[]}`,
		},
		[]string{
			``, `{}`, `{"element_ref":""}`, `{"element_ref":"button.buy"}`, `{"selector":"#buy"}`, `{"element_ref":"e1","button":"back"}`, `{"element_ref":"e1","count":4}`,
			`{"element_ref":"e1","count":-1}`, `{"element_ref":"e1","modifiers":["Ctrl"]}`, `{"element_ref":"e1","modifiers":["Alt","Alt"]}`,
			`{"element_ref":"e1","offset":{"x":-1,"y":0}}`, `{"element_ref":"e1","offset":{"x":1e30,"y":0}}`, `{"element_ref":"e1","offset":[1,2]}`,
		},
	},
	protocol.KindHover: {
		[]string{`{"element_ref":"e1"}`, `{"element_ref":"@e1","offset":{"x":3,"y":4}}`},
		[]string{``, `{}`, `{"element_ref":"#menu"}`, `{"element_ref":"e1","offset":{"x":0,"y":-4}}`},
	},
	protocol.KindDrag: {
		[]string{`{"element_ref":"e1","to_ref":"e2"}`, `{"element_ref":"e1","offset":{"x":1,"y":1},"to_ref":"@e2","to_offset":{"x":2,"y":2}}`, `{"element_ref":"e1","by":{"x":-40,"y":0}}`},
		[]string{
			``, `{}`, `{"element_ref":"e1"}`, `{"to_ref":"e1"}`, `{"element_ref":"e1","to_ref":"e2","by":{"x":1,"y":1}}`, `{"element_ref":"e1","to_ref":"#bin"}`,
			`{"element_ref":"e1","by":{"x":1,"y":1},"to_offset":{"x":1,"y":1}}`, `{"element_ref":"e1","by":{"x":1e9,"y":1}}`, `{"element_ref":"e1","to_ref":"e2","to_offset":{"x":-1,"y":1}}`,
		},
	},
	protocol.KindFill: {
		[]string{`{"element_ref":"e1","value":""}`, `{"element_ref":"e1","value":"` + strings.Repeat("a", protocol.MaxValueBytes) + `"}`},
		[]string{`{"value":"x"}`, `{"element_ref":"e1","value":7}`, `{"element_ref":"e1","value":"` + strings.Repeat("a", protocol.MaxValueBytes+1) + `"}`},
	},
	protocol.KindFillCredential: {
		[]string{`{"element_ref":"e1","credential_ref":"shop-demo"}`},
		[]string{`{"element_ref":"e1"}`, `{"credential_ref":"shop-demo"}`, `{"element_ref":"e1","credential_ref":"../etc/passwd"}`, `{"element_ref":"e1","credential_ref":"a=b"}`},
	},
	protocol.KindPress: {
		[]string{`{"key":"Enter"}`, `{"element_ref":"e1","key":"Tab"}`, `{"key":"Control+A"}`, `{"key":"Shift+Tab"}`, `{"key":"Control+Shift+Z"}`, `{"key":"Meta+Enter"}`},
		[]string{
			`{}`, `{"key":"enter"}`, `{"key":"Control+L"}`, `{"key":"Control+W"}`, `{"key":"Control+T"}`, `{"key":"Control+P"}`, `{"key":"Alt+ArrowLeft"}`, `{"key":"Alt+F4"}`,
			`{"key":"Shift+Control+Z"}`, `{"key":"Control+"}`, `{"key":"F5"}`, `{"key":"a"}`, `{"key":"Enter","element_ref":"x"}`,
		},
	},
	protocol.KindType: {
		[]string{`{"text":"a"}`, `{"element_ref":"e1","text":"Grüße\n","delay_ms":1000}`, `{"text":"` + strings.Repeat("ü", protocol.MaxTypedChars) + `","delay_ms":15}`},
		[]string{
			``, `{}`, `{"text":""}`, `{"text":"a\tb"}`, `{"text":"\u0007"}`, `{"text":"a","delay_ms":1001}`, `{"text":"a","delay_ms":-1}`, `{"text":"a","element_ref":"input"}`,
			`{"text":"` + strings.Repeat("a", protocol.MaxTypedChars+1) + `"}`, `{"text":"` + strings.Repeat("a", 100) + `","delay_ms":400}`,
		},
	},
	protocol.KindSelect: {
		[]string{`{"element_ref":"e1","values":["a","b"]}`, `{"element_ref":"e1","values":[""]}`},
		[]string{`{"element_ref":"e1"}`, `{"element_ref":"e1","values":[]}`, `{"values":["a"]}`, `{"element_ref":"e1","values":"a"}`},
	},
	protocol.KindCheck: {
		[]string{`{"element_ref":"e1","checked":true}`, `{"element_ref":"e1","checked":false}`},
		[]string{`{"element_ref":"e1"}`, `{"element_ref":"e1","checked":null}`, `{"checked":true}`, `{"element_ref":"e1","checked":"yes"}`},
	},
	protocol.KindScroll: {
		[]string{`{"to":"down"}`, `{"to":"up","pages":20}`, `{"to":"element","element_ref":"e1"}`, `{"to":"top"}`, `{"to":"bottom"}`},
		[]string{`{}`, `{"to":"left"}`, `{"to":"down","pages":-1}`, `{"to":"down","pages":20.5}`, `{"to":"element"}`},
	},
	protocol.KindWait: {
		[]string{
			`{"until":"quiet"}`, `{"until":"element-visible","role":"button","name":"Save"}`, `{"until":"element-hidden","role":"dialog"}`,
			`{"until":"load"}`, `{"until":"network-idle"}`, `{"until":"text","text":"x"}`, `{"until":"url","url":"/a"}`, `{"until":"element-visible","element_ref":"e1"}`, `{"until":"element-hidden","element_ref":"e1","timeout_ms":30000}`,
		},
		[]string{
			`{"until":"element-visible","name":"Save"}`, `{"until":"element-visible","role":"button","element_ref":"e1"}`, `{"until":"element-visible","role":"#x"}`,
			`{"until":"element-visible","role":"button","name":"` + strings.Repeat("a", 501) + `"}`,
			`{}`, `{"until":"text"}`, `{"until":"url"}`, `{"until":"element-visible"}`, `{"until":"1+1"}`, `{"until":"load","timeout_ms":30001}`, `{"until":"load","timeout_ms":-1}`,
		},
	},
	protocol.KindBack:    {[]string{``, `{}`}, []string{`[]`}},
	protocol.KindForward: {[]string{``, `{}`}, []string{`7`}},
	protocol.KindReload:  {[]string{``, `{}`}, []string{`"hard"`}},
	protocol.KindScreenshot: {
		[]string{``, `{"full_page":true,"format":"png"}`, `{"format":"jpeg","quality":100}`, `{"format":"webp"}`, `{"element_ref":"@e1","refs":true}`},
		[]string{`{"format":"gif"}`, `{"element_ref":"#x"}`, `{"element_ref":"e1","full_page":true}`, `{"refs":true,"format":"webp"}`, `{"quality":101}`, `{"quality":-1}`},
	},
	protocol.KindExtractTable: {
		[]string{``, `{"region_ref":"@e4","limit":1000,"max_text_chars":20000,"fields":["a"]}`},
		[]string{`{"limit":1001}`, `{"limit":-1}`, `{"max_text_chars":20001}`, `{"region_ref":"table"}`},
	},
	protocol.KindExtractLinks:   {[]string{``}, []string{`{"limit":-1}`}},
	protocol.KindExtractList:    {[]string{``, `{"index":0}`, `{"index":3,"offset":100}`}, []string{`{"index":-1}`, `{"index":1001}`, `{"offset":-1}`}},
	protocol.KindExtractArticle: {[]string{``, `{"offset":12000}`}, []string{`{"offset":10000001}`, `{"max_text_chars":-1}`}},
	protocol.KindBatch: {
		[]string{
			`{"steps":[{"kind":"fill","args":{"element_ref":"@e1","value":"x"}},{"kind":"press","args":{"key":"Enter"}},{"kind":"wait","args":{"until":"load"}}]}`,
			`{"steps":[` + strings.Repeat(`{"kind":"back"},`, 19) + `{"kind":"reload","args":null}]}`,
		},
		[]string{
			``, `{}`, `{"steps":[]}`, `{"steps":[` + strings.Repeat(`{"kind":"back"},`, 20) + `{"kind":"back"}]}`, `{"steps":[{"kind":"batch","args":{"steps":[{"kind":"back"}]}}]}`,
			`{"steps":[{"kind":"observe"}]}`, `{"steps":[{"kind":"cancel","args":{"request":"a"}}]}`, `{"steps":[{"kind":"cdp","args":{"method":"Page.reload"}}]}`,
			`{"steps":[{"kind":"back"},{"kind":"click"}]}`, `{"steps":[{"kind":"fly"}]}`, `{"steps":[{"kind":"click","args":{"element_ref":7}}]}`, `{"steps":"back"}`, `{"steps":[{}]}`,
		},
	},
	protocol.KindCDP: {
		[]string{`{"method":"Page.getLayoutMetrics"}`, `{"method":"DOM.getDocument","params":{"depth":1},"frame_id":"F1"}`},
		[]string{``, `{"method":"getLayoutMetrics"}`, `{"method":"Page.*"}`, `{"method":"Page.getFrameTree\n"}`, `{"method":"Page.getFrameTree","params":[1]}`},
	},
	protocol.KindEmulate: {
		[]string{
			`{"reset":true}`, `{"viewport":{"width":390,"height":844,"scale":3,"mobile":true}}`, `{"locale":"de-DE","timezone":"Europe/Berlin"}`,
			`{"color_scheme":"dark","user_agent":"Mozilla/5.0 (X)","network":{"offline":true}}`, `{"timezone":"Etc/GMT+1"}`,
		},
		[]string{
			``, `{}`, `{"viewport":{"width":0,"height":10}}`, `{"viewport":{"width":4096,"height":4096,"scale":4}}`, `{"locale":"de DE"}`, `{"timezone":"../etc"}`,
			`{"user_agent":"a\r\nX-Evil: 1"}`, `{"color_scheme":"sepia"}`, `{"network":{"latency_ms":-1}}`,
		},
	},
	protocol.KindCancel: {
		[]string{`{"request":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}`, `{"request":"s4711-1764537600"}`},
		[]string{``, `{}`, `{"request":"*"}`, `{"request":"a.b"}`, `{"request":""}`},
	},
	protocol.KindInterrupt: {
		[]string{`{"request":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}`},
		[]string{``, `{}`, `{"request":">"}`},
	},
	protocol.KindPing: {[]string{``, `{}`}, []string{`[1]`}},
	protocol.KindDialog: {
		[]string{`{"dialog_id":"d-3-1","action":"accept"}`, `{"dialog_id":"d-3-1","action":"accept","prompt_text":""}`, `{"dialog_id":"d-0-12","action":"dismiss"}`},
		[]string{
			``, `{"dialog_id":"d-3-1"}`, `{"dialog_id":"d-3-1","action":"eat"}`, `{"action":"accept"}`, `{"dialog_id":"d-3","action":"accept"}`,
			`{"dialog_id":"*","action":"accept"}`, `{"dialog_id":"d-3-1","action":"dismiss","prompt_text":"x"}`,
			`{"dialog_id":"d-3-1","action":"accept","prompt_text":"` + strings.Repeat("a", protocol.MaxPromptText+1) + `"}`,
		},
	},
}

func TestArgsOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range protocol.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cases := argsCases[kind]
			if len(cases.good) == 0 || len(cases.bad) == 0 {
				t.Fatal("no cases: add them to argsCases")
			}
			for _, args := range cases.good {
				action, err := parse(kind, args)
				if err != nil || action.Args == nil {
					t.Errorf("%.80s: %v", args, err)
				}
			}
			for _, args := range cases.bad {
				_, err := parse(kind, args)
				if err == nil {
					t.Errorf("%.80s is accepted", args)
				} else if err.Code != protocol.CodeInvalidArgument && err.Code != protocol.CodeInvalidURL {
					t.Errorf("%.80s: %v", args, err)
				}
			}
		})
	}
}

func parse(kind protocol.Kind, args string) (protocol.Action, *protocol.Error) {
	info, _ := kind.Lookup()
	body := fmt.Sprintf(`{"v":1,"kind":%q}`, kind)
	if args != "" {
		body = fmt.Sprintf(`{"v":1,"kind":%q,"args":%s}`, kind, args)
	}
	return protocol.ParseAction([]byte(body), info.Lane)
}

func TestRefsAreNormalised(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{"e7", "@e7", "ref=e7", " e7 "} {
		action, err := parse(protocol.KindClick, fmt.Sprintf(`{"element_ref":%q}`, spelling))
		if err != nil {
			t.Fatal(err)
		}
		if got := action.Args.(*protocol.ClickArgs).ElementRef; got != "e7" {
			t.Errorf("%q became %q", spelling, got)
		}
		action, err = parse(protocol.KindExtractTable, fmt.Sprintf(`{"region_ref":%q}`, spelling))
		if err != nil {
			t.Fatal(err)
		}
		if got := action.Args.(*protocol.ExtractArgs).RegionRef; got != "e7" {
			t.Errorf("region %q became %q", spelling, got)
		}
		action, err = parse(protocol.KindObserve, fmt.Sprintf(`{"element_ref":%q}`, spelling))
		if err != nil {
			t.Fatal(err)
		}
		if got := action.Args.(*protocol.ObserveArgs).ElementRef; got != "e7" {
			t.Errorf("scope %q became %q", spelling, got)
		}
	}
}

// TestABatchNamesTheStepThatIsWrong: nothing of it runs.
func TestABatchNamesTheStepThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := parse(protocol.KindBatch, `{"steps":[{"kind":"back"},{"kind":"reload"},{"kind":"press","args":{"key":"Control+W"}}]}`)
	if err == nil || err.Code != protocol.CodeInvalidArgument || err.Dispatched != protocol.DispatchedNo || !strings.HasPrefix(err.Message, "step 3 of 3 (press): key") {
		t.Errorf("%v", err)
	}
}

func TestKindTable(t *testing.T) {
	t.Parallel()
	reads := map[protocol.Kind]bool{
		protocol.KindObserve: true, protocol.KindWait: true, protocol.KindScreenshot: true,
		protocol.KindExtractTable: true, protocol.KindExtractLinks: true, protocol.KindExtractList: true, protocol.KindExtractArticle: true, protocol.KindObserveNext: true,
		protocol.KindCancel: true, protocol.KindPing: true,
	}
	if _, ok := protocol.Kind("fly").Lookup(); ok {
		t.Error("an unknown kind is known")
	}
	seen := map[protocol.Kind]bool{}
	for _, kind := range protocol.Kinds() {
		info, ok := kind.Lookup()
		if !ok || seen[kind] {
			t.Errorf("%s: found %v, twice %v", kind, ok, seen[kind])
		}
		seen[kind] = true
		// A write that counts as a read would be run twice after a crash.
		if (info.Effect == protocol.EffectRead) != reads[kind] {
			t.Errorf("%s is a %s", kind, info.Effect)
		}
		if info.NeedsRef && !info.NeedsPage {
			t.Errorf("%s needs a ref but no page", kind)
		}
	}
}

func TestNewRequestIsAdmitted(t *testing.T) {
	t.Parallel()
	for _, args := range []protocol.Args{nil, &protocol.ClickArgs{Target: protocol.Target{ElementRef: "e1"}}} {
		kind := protocol.KindClick
		if args == nil {
			kind = protocol.KindReload
		}
		r, err := protocol.NewRequest(kind, args, storedAt)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		a := protocol.Admit(stored("q", string(body)), created)
		if a.Refused != nil || a.ID != r.ID {
			t.Errorf("%s: %v", body, a.Refused)
		}
	}
}

func FuzzParseAction(f *testing.F) {
	for kind, cases := range argsCases {
		for _, args := range append(cases.good, cases.bad...) {
			if args != "" && len(args) < 1000 {
				f.Add([]byte(fmt.Sprintf(`{"v":1,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","kind":%q,"args":%s}`, kind, args)), false)
			}
		}
	}
	f.Add([]byte(`{"v":1,"kind":"observe","queue_deadline_ms":9223372036854775807}`), true)
	f.Add([]byte(``), true)
	f.Fuzz(func(t *testing.T, body []byte, control bool) {
		lane := protocol.LaneQueue
		if control {
			lane = protocol.LaneControl
		}
		a := protocol.Admit(stored(lane, string(body)), created)
		if !protocol.ValidToken(string(a.ID), protocol.MaxIDLen) {
			t.Fatalf("answered under %q", a.ID)
		}
		if a.Refused != nil {
			if a.Refused.Code.Info().Code != a.Refused.Code || len(a.Refused.Message) > 1000 {
				t.Fatalf("refused with %s, %d bytes", a.Refused.Code, len(a.Refused.Message))
			}
			return
		}
		if a.Action.Args == nil || a.Action.Info.Lane != lane {
			t.Fatalf("admitted without args, or on the wrong lane: %+v", a.Action)
		}
		if d, b := a.Action.QueueDeadline(), a.Action.Budget(); d <= 0 || d > protocol.MaxQueueDeadline || b <= 0 || b > protocol.MaxRunBudget {
			t.Fatalf("deadline %s, budget %s", d, b)
		}
	})
}
