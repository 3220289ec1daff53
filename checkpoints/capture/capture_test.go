package capture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/checkpoints"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const shop = "https://shop.example"

func items(kv ...string) (list []checkpoints.Item) {
	for i := 0; i < len(kv); i += 2 {
		list = append(list, checkpoints.Item{Key: checkpoints.Text(kv[i]), Value: checkpoints.Text(kv[i+1])})
	}
	return list
}

func area(origin string, list []checkpoints.Item) checkpoints.StorageArea {
	return checkpoints.StorageArea{StorageKey: checkpoints.StorageKey(origin + "/"), Origin: origin, Items: list}
}

func shopBrowser() *fakeBrowser {
	return &fakeBrowser{
		jar:     []checkpoints.Cookie{{Name: "sid", Value: "1", Domain: "shop.example", Path: "/"}},
		storage: map[string][]checkpoints.Item{shop: items("cart", "3")},
		frame:   &Frame{URL: shop + "/cart", Title: "Cart", Origin: shop, StorageKey: shop + "/"},
	}
}

func TestCaptureMergesTheLivePageWithWhatWasKept(t *testing.T) {
	t.Parallel()
	b := shopBrowser()
	prev := checkpoints.State{
		LocalStorage: []checkpoints.StorageArea{area("https://old.example", items("k", "v")), area(shop, items("cart", "2"))},
		Cookies:      []checkpoints.Cookie{{Name: "gone"}},
	}
	got, err := Capture(t.Context(), b, prev)
	if err != nil {
		t.Fatal(err)
	}
	want := checkpoints.State{
		Cookies:      b.jar,
		LocalStorage: []checkpoints.StorageArea{area("https://old.example", items("k", "v")), area(shop, items("cart", "3"))},
		Tabs:         []checkpoints.Tab{{URL: shop + "/cart", Title: "Cart", Active: true}},
	}
	if diff := cmp.Diff(want, got.State); diff != "" {
		t.Error(diff)
	}
	if !got.How.Consistent || len(got.How.Warnings) != 0 {
		t.Errorf("how: %+v", got.How)
	}
}

func TestAClearedStorageIsNotKept(t *testing.T) {
	t.Parallel()
	b := shopBrowser()
	b.storage[shop] = nil
	got, err := Capture(t.Context(), b, checkpoints.State{LocalStorage: []checkpoints.StorageArea{area(shop, items("cart", "2"))}})
	if err != nil || len(got.State.LocalStorage) != 0 {
		t.Errorf("%+v, %v", got.State, err)
	}
}

func TestWhatCannotBeReadIsKeptFromBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change     func(*fakeBrowser)
		consistent bool
		warning    string
	}{
		"a busy page":       {func(b *fakeBrowser) { b.evalErr = context.DeadlineExceeded }, false, "local storage: no answer in time"},
		"an exception":      {func(b *fakeBrowser) { b.evalErr = errors.New("TypeError: secret") }, false, "local storage: not read"},
		"another site now":  {func(b *fakeBrowser) { b.movedTo = "https://evil.example" }, false, "local storage: " + errMoved.Error()},
		"ever changing":     {growing, false, "local storage: " + errChanged.Error()},
		"about:blank":       {func(b *fakeBrowser) { b.frame = &Frame{URL: "about:blank"} }, true, ""},
		"a third-party key": {func(b *fakeBrowser) { b.frame.StorageKey = shop + "/^0https://top.example" }, true, ""},
		"a local file":      {func(b *fakeBrowser) { b.frame.Origin, b.frame.StorageKey = "file://", "file:///" }, true, ""},
		"no tab":            {func(b *fakeBrowser) { b.frame = nil }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shopBrowser()
			tc.change(b)
			prev := checkpoints.State{LocalStorage: []checkpoints.StorageArea{area(shop, items("cart", "2"))}}
			got, err := Capture(t.Context(), b, prev)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(prev.LocalStorage, got.State.LocalStorage); diff != "" {
				t.Error(diff)
			}
			if warned := strings.Join(got.How.Warnings, ";"); got.How.Consistent != tc.consistent || warned != tc.warning {
				t.Errorf("how: %+v", got.How)
			}
			if len(got.State.Cookies) != 1 {
				t.Error("cookies were not captured")
			}
		})
	}
}

// growing is a page that writes between any two chunks of a large storage.
func growing(b *fakeBrowser) {
	b.storage[shop] = items("a", strings.Repeat("x", chunkChars), "b", "y")
	b.between = func() { b.storage[shop] = append(b.storage[shop], items(fmt.Sprint(len(b.storage[shop])), "z")...) }
}

func TestALargeStorageIsReadAndWrittenInChunks(t *testing.T) {
	t.Parallel()
	b := shopBrowser()
	var list []checkpoints.Item
	for i := range 40 {
		list = append(list, items(fmt.Sprint(i), strings.Repeat("x", chunkChars/8))...)
	}
	b.storage[shop] = list
	chunks := 0
	b.between = func() { chunks++ }
	got, err := Capture(t.Context(), b, checkpoints.State{})
	if err != nil || chunks < 5 {
		t.Fatalf("%d chunks, %v", chunks, err)
	}
	if diff := cmp.Diff(list, got.State.LocalStorage[0].Items); diff != "" {
		t.Error(diff)
	}
	fresh := &fakeBrowser{storage: map[string][]checkpoints.Item{}}
	if _, err := Restore(t.Context(), fresh, loaded(got.State), 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, fresh.storage[shop]); diff != "" {
		t.Error(diff)
	}
}

// A renderer may answer anything.
func TestAHostileAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"not JSON":       "<html>",
		"a loop":         `{"total":2,"next":0,"items":[]}`,
		"wrong total":    `{"total":5,"next":-1,"items":[{"k":"a","v":"b"}]}`,
		"negative total": `{"total":-1,"next":-1,"items":[]}`,
		"not strings":    `{"total":1,"next":-1,"items":[{"k":1,"v":2}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eval := func(context.Context, string, string) (string, error) { return answer, nil }
			if got, err := dump(t.Context(), eval, shop); err == nil {
				t.Errorf("took %v", got)
			}
		})
	}
}
