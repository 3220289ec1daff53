package capture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// loaded is a state as a store would give it.
func loaded(s checkpoints.State) *checkpoints.Loaded {
	return &checkpoints.Loaded{
		State: s, NewestSeq: 3,
		Manifest: &checkpoints.Manifest{Body: checkpoints.Body{StateSeq: 3, StateAt: time.Now().UTC()}},
	}
}

func cookie(name string) checkpoints.Cookie {
	return checkpoints.Cookie{Name: checkpoints.Text(name), Value: "v", Domain: "shop.example", Path: "/", Expires: -1, Session: true}
}

func TestRestoreReportsWhatCameBackAndWhatDidNot(t *testing.T) {
	t.Parallel()
	expired, opaque := cookie("expired"), cookie("opaque")
	expired.Session, expired.Expires = false, 1
	opaque.PartitionOpaque = true
	state := checkpoints.State{
		Cookies: []checkpoints.Cookie{cookie("a"), cookie("b"), cookie("bad"), expired, opaque},
		LocalStorage: []checkpoints.StorageArea{
			area(shop, items("k", "v", "l", "w")),
			{StorageKey: "https://ads.example/^0https://shop.example", Origin: "https://ads.example", Items: items("t", "1")},
			{StorageKey: "file:///", Origin: "file://", Items: items("t", "1")},
			area("https://broken.example", items("t", "1")),
		},
		Tabs: []checkpoints.Tab{{URL: shop + "/cart", Active: true}},
	}
	b := &fakeBrowser{
		storage:   map[string][]checkpoints.Item{},
		refuse:    func(c checkpoints.Cookie) bool { return c.Name == "bad" },
		originErr: map[string]error{"https://broken.example": errors.New("renderer is gone")},
	}
	r, err := Restore(t.Context(), b, loaded(state), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := &checkpoints.FidelityReport{
		From: checkpoints.FromCheckpoint, Generation: 4, CheckpointSeq: 3, NewestSeq: 3, LastURL: shop + "/cart",
		Survived: map[string]int{"cookies": 2, "local_storage_origins": 1, "local_storage_items": 2},
		Lost: []checkpoints.Loss{
			{Kind: "cookies", Name: "shop.example/ expired", Reason: lostExpired},
			{Kind: "cookies", Name: "shop.example/ opaque", Reason: lostOpaque},
			{Kind: "cookies", Name: "shop.example/ bad", Reason: lostRefused},
			{Kind: "local_storage_origins", Name: "https://ads.example/^0https://shop.example", Reason: lostPartitioned},
			{Kind: "local_storage_origins", Name: "file:///", Reason: lostScheme},
			{Kind: "local_storage_items", Name: "https://broken.example/", Reason: "1 of 1 entries: renderer is gone"},
		},
	}
	ignore := cmpopts.IgnoreFields(checkpoints.FidelityReport{}, "CheckpointAt", "CheckpointAgeMS", "TookMS")
	if diff := cmp.Diff(want, r, ignore); diff != "" {
		t.Error(diff)
	}
	// Third-party and unreachable storage was not even tried.
	if diff := cmp.Diff([]string{shop, "https://broken.example"}, b.visited); diff != "" {
		t.Error(diff)
	}
}

func TestACookieThatVanishesIsLostByName(t *testing.T) {
	t.Parallel()
	b := &forgetful{fakeBrowser{storage: map[string][]checkpoints.Item{}}}
	r, err := Restore(t.Context(), b, loaded(checkpoints.State{Cookies: []checkpoints.Cookie{cookie("a")}}), 1)
	if err != nil || len(r.Lost) != 1 || r.Lost[0].Reason != lostMissing || r.Survived["cookies"] != 0 {
		t.Errorf("report %+v, %v", r, err)
	}
}

// forgetful takes cookies and lists none.
type forgetful struct{ fakeBrowser }

func (*forgetful) Cookies(context.Context) ([]checkpoints.Cookie, error) { return nil, nil }

func TestAGoodSetOfCookiesIsOneCall(t *testing.T) {
	t.Parallel()
	b := &fakeBrowser{}
	var jar []checkpoints.Cookie
	for i := range 100 {
		jar = append(jar, cookie(string(rune('a'+i%26))+string(rune('a'+i/26))))
	}
	r, err := Restore(t.Context(), b, loaded(checkpoints.State{Cookies: jar}), 1)
	if err != nil || b.setCalls != 1 || r.Survived["cookies"] != 100 {
		t.Errorf("%d calls, %+v, %v", b.setCalls, r, err)
	}
}

func TestASessionThatEndsFailsTheRestore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("browser lost")
	cancel(lost)
	for name, s := range map[string]checkpoints.State{
		"cookies": {Cookies: []checkpoints.Cookie{cookie("a"), cookie("b")}},
		"storage": {LocalStorage: []checkpoints.StorageArea{area(shop, items("k", "v"))}},
	} {
		b := &fakeBrowser{storage: map[string][]checkpoints.Item{}, originErr: map[string]error{shop: lost}}
		if r, err := Restore(ctx, b, loaded(s), 1); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestRestoreOfNothingIsClean(t *testing.T) {
	t.Parallel()
	b := &fakeBrowser{}
	r, err := Restore(t.Context(), b, &checkpoints.Loaded{}, 1)
	if err != nil || r.From != checkpoints.FromClean || b.setCalls != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
