package client

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// TestVerbsOfTheBrowserSayWhatTheyMean sends each and reads it as a worker does.
func TestVerbsOfTheBrowserSayWhatTheyMean(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, answerOK)
	o := connect(t, s, "tenant.a").Owner("one")
	text := "yes"
	for _, tc := range []struct {
		send func() (*protocol.Result, error)
		kind protocol.Kind
		tab  protocol.PageID
		args protocol.Args
	}{
		{
			func() (*protocol.Result, error) {
				return o.Dialog(testContext(t), "d-1-2", protocol.DialogAccept, &text)
			},
			protocol.KindDialog, "", &protocol.DialogArgs{DialogID: "d-1-2", Action: protocol.DialogAccept, PromptText: &text},
		},
		{func() (*protocol.Result, error) { return o.Tabs(testContext(t)) }, protocol.KindTabs, "", &protocol.TabsArgs{Action: "list"}},
		{
			func() (*protocol.Result, error) { return o.NewTab(testContext(t), "http://a.test/") },
			protocol.KindTabs, "", &protocol.TabsArgs{Action: "new", URL: "http://a.test/"},
		},
		{func() (*protocol.Result, error) { return o.SelectTab(testContext(t), "t2") }, protocol.KindTabs, "t2", &protocol.TabsArgs{Action: "select"}},
		{func() (*protocol.Result, error) { return o.CloseTab(testContext(t), "") }, protocol.KindTabs, "", &protocol.TabsArgs{Action: "close"}},
		{
			func() (*protocol.Result, error) {
				return o.Emulate(testContext(t), protocol.EmulateArgs{Locale: "de-DE"})
			},
			protocol.KindEmulate, "", &protocol.EmulateArgs{Locale: "de-DE"},
		},
		{
			func() (*protocol.Result, error) {
				return o.CDP(testContext(t), "DOM.getDocument", map[string]int{"depth": 1}, WithTab("t3"))
			},
			protocol.KindCDP, "t3", &protocol.CDPArgs{Method: "DOM.getDocument", Params: []byte(`{"depth":1}`)},
		},
	} {
		if _, err := tc.send(); err != nil {
			t.Fatalf("%s: %v", tc.kind, err)
		}
		m := <-f.stored
		info, _ := tc.kind.Lookup()
		action, refused := protocol.ParseAction(m.Data, info.Lane)
		if refused != nil || action.Kind != tc.kind || action.Tab != tc.tab {
			t.Fatalf("%s of tab %q, refused %v: %s", action.Kind, action.Tab, refused, m.Data)
		}
		if diff := cmp.Diff(tc.args, action.Args); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.kind, diff)
		}
	}
	var none *NoResult
	if _, err := o.CDP(testContext(t), "DOM.getDocument", func() {}); !errors.As(err, &none) || none.Err.Code != protocol.CodeInvalidArgument {
		t.Errorf("params that are no JSON: %v", err)
	}
}
