package capture

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// fakeBrowser is a Session over maps. Its Eval does in Go what the scripts do.
type fakeBrowser struct {
	jar     []checkpoints.Cookie
	storage map[string][]checkpoints.Item // by origin
	frame   *Frame                        // nil: no tab

	refuse    func(checkpoints.Cookie) bool // cookies that fail their whole call
	evalErr   error
	between   func() // between two chunks of a dump
	movedTo   string // where the frame's document really is
	setCalls  int
	visited   []string
	originErr map[string]error
}

func (f *fakeBrowser) Cookies(context.Context) ([]checkpoints.Cookie, error) {
	return slices.Clone(f.jar), nil
}

func (f *fakeBrowser) SetCookies(ctx context.Context, cookies []checkpoints.Cookie) error {
	f.setCalls++
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.refuse != nil && slices.ContainsFunc(cookies, f.refuse) {
		return errors.New("Invalid cookie fields")
	}
	f.jar = append(f.jar, cookies...)
	return nil
}

func (f *fakeBrowser) MainFrame(context.Context) (Frame, bool, error) {
	if f.frame == nil {
		return Frame{}, false, nil
	}
	frame := *f.frame
	at := frame.Origin
	if f.movedTo != "" {
		at = f.movedTo
	}
	frame.Eval = f.eval(at)
	return frame, true, nil
}

func (f *fakeBrowser) WithOrigin(ctx context.Context, origin string, fn func(context.Context, Eval) error) error {
	f.visited = append(f.visited, origin)
	if err := f.originErr[origin]; err != nil {
		return err
	}
	return fn(ctx, f.eval(origin))
}

func (f *fakeBrowser) eval(origin string) Eval {
	return func(_ context.Context, function, arg string) (string, error) {
		if f.evalErr != nil {
			return "", f.evalErr
		}
		var answer any
		if function == storageDumpJS {
			answer = f.dump(origin, arg)
		} else {
			answer = f.load(origin, arg)
		}
		out, err := json.Marshal(answer)
		return string(out), err
	}
}

func (f *fakeBrowser) dump(origin, arg string) (chunk dumpChunk) {
	var a dumpArg
	if json.Unmarshal([]byte(arg), &a) != nil || a.Origin != origin {
		return dumpChunk{Moved: true, Next: -1}
	}
	items := f.storage[origin]
	chunk = dumpChunk{Total: len(items), Next: -1, Items: []checkpoints.Item{}}
	for i, used := a.From, 0; i < len(items); i++ {
		if used >= a.Budget {
			chunk.Next = i
			break
		}
		chunk.Items = append(chunk.Items, items[i])
		used += len(items[i].Key) + len(items[i].Value)
	}
	if f.between != nil {
		f.between()
	}
	return chunk
}

func (f *fakeBrowser) load(origin, arg string) loadAnswer {
	var a loadArg
	if json.Unmarshal([]byte(arg), &a) != nil || a.Origin != origin {
		return loadAnswer{Failed: len(a.Items), Reason: "page is at another origin"}
	}
	if a.Clear {
		f.storage[origin] = nil
	}
	f.storage[origin] = append(f.storage[origin], a.Items...)
	return loadAnswer{Written: len(a.Items)}
}
