package protocol_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

var (
	storedAt = time.Date(2026, 11, 30, 21, 19, 46, 0, time.UTC)
	created  = time.Unix(1764537600, 0)
)

const fallback = protocol.RequestID("s4711-1764537600")

func stored(lane protocol.Lane, body string) protocol.Stored {
	return protocol.Stored{
		Key: protocol.OwnerKey{Tenant: "acme", Owner: "agent-7"}, Lane: lane, Seq: 4711,
		StoredAt: storedAt, Data: []byte(body),
	}
}

func idAt(offset time.Duration) string { return string(protocol.NewRequestID(storedAt.Add(offset))) }

// TestAdmit: every stored message, also a malformed one, gets one name and, where
// it cannot run, one reason.
func TestAdmit(t *testing.T) {
	t.Parallel()
	const horizon, future = protocol.ResendHorizon, protocol.FutureHorizon
	now, old := idAt(0), idAt(-horizon-time.Millisecond)
	oldest, farthest, ahead := idAt(-horizon), idAt(future), idAt(future+time.Millisecond)
	body := func(id string) string { return fmt.Sprintf(`{"v":1,"id":%q,"kind":"observe"}`, id) }
	tests := []struct {
		name string
		lane protocol.Lane
		body string
		id   string        // empty: the fallback name
		code protocol.Code // empty: admitted
	}{
		{"plain", "q", body(now), now, ""},
		{"no id", "q", `{"v":1,"kind":"observe"}`, "", ""},
		{"empty id", "q", body(""), "", ""},
		{"null id", "q", `{"v":1,"id":null,"kind":"observe"}`, "", ""},
		{"illegal id", "q", body("my-request"), "", protocol.CodeInvalidRequest},
		{"id is a wildcard", "q", body("*"), "", protocol.CodeInvalidRequest},
		{"id is another request's fallback name", "q", body("s1-1764537600"), "", protocol.CodeInvalidRequest},
		{"id is a number", "q", `{"v":1,"id":7,"kind":"observe"}`, "", protocol.CodeInvalidRequest},
		{"too old", "q", body(old), old, protocol.CodeRequestTooOld},
		{"of 1970", "q", body("00000000000000000000000000"), "00000000000000000000000000", protocol.CodeRequestTooOld},
		{"as old as allowed", "q", body(oldest), oldest, ""},
		{"as far ahead as allowed", "q", body(farthest), farthest, ""},
		{"from the future", "q", body(ahead), ahead, protocol.CodeRequestFromFuture},
		{"from the year 2300", "q", body("0999999999999999999999999C"), "0999999999999999999999999C", protocol.CodeRequestFromFuture},
		// More than 292 years ahead, the difference does not fit a Duration.
		{"from the year 10889", "q", body("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", protocol.CodeRequestFromFuture},
		{"too old and malformed", "q", fmt.Sprintf(`{"v":1,"id":%q,"kind":"nope"}`, old), old, protocol.CodeRequestTooOld},
		{"empty body", "q", ``, "", protocol.CodeInvalidRequest},
		{"malformed JSON", "q", `{"v":1,"id":"` + now + `","kind":`, "", protocol.CodeInvalidRequest},
		{"two values", "q", body(now) + body(now), "", protocol.CodeInvalidRequest},
		{"an array", "q", `[1]`, "", protocol.CodeInvalidRequest},
		{"null", "q", `null`, "", protocol.CodeInvalidRequest},
		{"binary", "q", "\x00\xff\xfe", "", protocol.CodeInvalidRequest},
		{"unknown action", "q", fmt.Sprintf(`{"v":1,"id":%q,"kind":"fly"}`, now), now, protocol.CodeUnknownAction},
		{"no kind", "q", fmt.Sprintf(`{"v":1,"id":%q}`, now), now, protocol.CodeInvalidRequest},
		{"unknown field", "q", fmt.Sprintf(`{"v":1,"id":%q,"kind":"observe","colour":"red","args":{"deep":[1,{"x":2}]}}`, now), now, ""},
		{"no version", "q", fmt.Sprintf(`{"id":%q,"kind":"observe"}`, now), now, protocol.CodeInvalidRequest},
		{"unknown version", "q", fmt.Sprintf(`{"v":2,"id":%q,"kind":"observe"}`, now), now, protocol.CodeUnsupportedVersion},
		{"control on lane q", "q", fmt.Sprintf(`{"v":1,"id":%q,"kind":"ping"}`, now), now, protocol.CodeInvalidRequest},
		{"action on lane c", "c", body(now), now, protocol.CodeInvalidRequest},
		{"control on lane c", "c", fmt.Sprintf(`{"v":1,"id":%q,"kind":"ping"}`, now), now, ""},
		{"a value of 1 MiB", "q", fmt.Sprintf(`{"v":1,"id":%q,"kind":"fill","args":{"element_ref":"e1","value":%q}}`, now, strings.Repeat("x", 1<<20)), now, protocol.CodeInvalidArgument},
		{"UUIDv7", "q", body("019ad677-4b50-7cc3-98c4-dc0c0c07398f"), "019ad677-4b50-7cc3-98c4-dc0c0c07398f", protocol.CodeRequestTooOld},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := protocol.Admit(stored(tt.lane, tt.body), created)
			want := protocol.RequestID(tt.id)
			if tt.id == "" {
				want = fallback
			}
			if got.ID != want {
				t.Errorf("id %q, want %q", got.ID, want)
			}
			if code := codeOf(got.Refused); code != tt.code {
				t.Errorf("refused %q, want %q: %v", code, tt.code, got.Refused)
			}
			if got.Refused != nil && got.Refused.Dispatched != protocol.DispatchedNo {
				t.Errorf("dispatched %s before it ran", got.Refused.Dispatched)
			}
			again := protocol.Admit(stored(tt.lane, tt.body), created)
			if diff := cmp.Diff(got.Refused, again.Refused); again.ID != got.ID || diff != "" {
				t.Errorf("a second reading differs: %q, %s", again.ID, diff)
			}
		})
	}
}

func codeOf(e *protocol.Error) protocol.Code {
	if e == nil {
		return ""
	}
	return e.Code
}

// TestRefusalsStaySmall: a refusal is stored; hostile input must not be able to
// make it larger than a result may be, nor flood a log.
func TestRefusalsStaySmall(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("9", 200<<10)
	for name, body := range map[string]string{
		"number in v":         `{"v":` + big + `,"kind":"observe"}`,
		"number in a string":  `{"v":1,"kind":"observe","id":` + big + `}`,
		"number in args":      `{"v":1,"kind":"fill","args":{"element_ref":` + big + `}}`,
		"kind":                `{"v":1,"kind":"` + big + `"}`,
		"id":                  `{"v":1,"kind":"observe","id":"` + big + `"}`,
		"ref":                 `{"v":1,"kind":"click","args":{"element_ref":"` + big + `"}}`,
		"key":                 `{"v":1,"kind":"press","args":{"key":"` + big + `"}}`,
		"until":               `{"v":1,"kind":"wait","args":{"until":"` + big + `"}}`,
		"mode":                `{"v":1,"kind":"observe","observe":{"mode":"` + big + `"}}`,
		"credential":          `{"v":1,"kind":"fill_credential","args":{"element_ref":"e1","credential_ref":"` + big + `"}}`,
		"url":                 `{"v":1,"kind":"open","args":{"url":"` + big + `"}}`,
		"name of a field":     `{"v":1,"kind":"observe","` + big + `":1,}`,
		"value of wrong type": `{"v":1,"kind":"fill","args":{"element_ref":"e1","value":` + big + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := protocol.Admit(stored("q", body), created)
			if got.Refused == nil {
				t.Fatal("admitted")
			}
			if n := len(got.Refused.Message); n > 1000 {
				t.Errorf("message of %d bytes", n)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields string
		waited time.Duration
		want   bool
	}{
		{"default, in time", ``, protocol.DefaultQueueLimit, false},
		{"default, late", ``, protocol.DefaultQueueLimit + time.Millisecond, true},
		{"own deadline, in time", `,"queue_deadline_ms":250`, 250 * time.Millisecond, false},
		{"own deadline, late", `,"queue_deadline_ms":250`, 251 * time.Millisecond, true},
		{"server's clock steps back", ``, -time.Hour, false},
		{"a refused request does not expire", `,"queue_deadline_ms":-1`, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := protocol.Admit(stored("q", `{"v":1,"kind":"observe"`+tt.fields+`}`), created)
			err := a.Expired(storedAt.Add(tt.waited))
			if (err != nil) != tt.want || (err != nil && err.Code != protocol.CodeExpired) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDependsOnPage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body string
		want bool
	}{
		{`{"v":1,"kind":"open","args":{"url":"https://a.example"}}`, false},
		{`{"v":1,"kind":"observe"}`, false},
		{`{"v":1,"kind":"observe","args":{"element_ref":"e1"}}`, true},
		{`{"v":1,"kind":"observe","args":{"group_ref":"g1"}}`, true},
		{`{"v":1,"kind":"observe","args":{"frame_id":"F1"}}`, true},
		{`{"v":1,"kind":"observe","args":{"search":"price","role":"link"}}`, false},
		{`{"v":1,"kind":"observe_next","args":{"continuation":"c-1-2"}}`, true},
		{`{"v":1,"kind":"screenshot"}`, false},
		{`{"v":1,"kind":"click","args":{"element_ref":"e1"}}`, true},
		{`{"v":1,"kind":"press","args":{"key":"Enter"}}`, true},
		{`{"v":1,"kind":"back"}`, true},
		{`{"v":1,"kind":"extract_links"}`, true},
		{`{"v":1,"kind":"wait","args":{"until":"load"}}`, true},
		{`{"v":1,"kind":"open","tab":"t2","args":{"url":"https://a.example"}}`, true},
		{`{"v":1,"kind":"tabs","args":{"action":"list"}}`, false},
		{`{"v":1,"kind":"tabs","args":{"action":"new"}}`, false},
		{`{"v":1,"kind":"tabs","args":{"action":"close"}}`, true},
		{`{"v":1,"kind":"tabs","args":{"action":"select","index":0}}`, true},
		{`not JSON`, false},
	}
	for _, tt := range tests {
		a := protocol.Admit(stored("q", tt.body), created)
		if got := a.DependsOnPage(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.body, got, tt.want)
		}
	}
}

func TestFailGivesTheStatusOfItsCode(t *testing.T) {
	t.Parallel()
	special := map[protocol.Code]protocol.Status{
		protocol.CodeExpired: protocol.StatusExpired, protocol.CodeNoCapacity: protocol.StatusExpired,
		protocol.CodeCancelled:      protocol.StatusCancelled,
		protocol.CodeOutcomeUnknown: protocol.StatusOutcomeUnknown, protocol.CodeInterrupted: protocol.StatusOutcomeUnknown,
		protocol.CodeBrowserLost: protocol.StatusOutcomeUnknown,
	}
	a := protocol.Admit(stored("q", `{"v":1,"kind":"observe"}`), created)
	for _, row := range protocol.Codes() {
		t.Run(string(row.Code), func(t *testing.T) {
			t.Parallel()
			r := a.NewResult(storedAt)
			r.Fail(protocol.Errorf(row.Code, ""))
			want := special[row.Code]
			if want == "" {
				want = protocol.StatusError
			}
			if r.Status != want || r.Dispatched != row.Dispatched {
				t.Errorf("status %s dispatched %s, want %s %s", r.Status, r.Dispatched, want, row.Dispatched)
			}
			wantVerdict := map[protocol.Dispatched]protocol.Verdict{
				protocol.DispatchedNo: protocol.VerdictRefused, protocol.DispatchedUnknown: protocol.VerdictUnknown,
			}[row.Dispatched]
			if r.Verdict != wantVerdict {
				t.Errorf("verdict %q, want %q", r.Verdict, wantVerdict)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFailBeforeDispatchIsNeverOutcomeUnknown(t *testing.T) {
	t.Parallel()
	a := protocol.Admit(stored("q", `{"v":1,"kind":"observe"}`), created)
	for _, row := range protocol.Codes() {
		r := a.NewResult(storedAt)
		r.Fail(protocol.Errorf(row.Code, "").WithDispatched(protocol.DispatchedNo))
		if r.Status == protocol.StatusOutcomeUnknown || r.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: %s, dispatched %s", row.Code, r.Status, r.Dispatched)
		}
	}
}
