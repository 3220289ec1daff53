package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// Bounds on what a renderer may hand over. Chromium's quota for localStorage is
// 10 MiB of UTF-16; a code unit takes at most 6 bytes as an escape.
const (
	chunkChars   = 256 << 10 // code units a chunk: about 10 ms of a main thread
	maxChunk     = 64 << 20  // bytes of one answer
	maxItems     = 200_000
	maxChunks    = 4096
	dumpAttempts = 2 // a page may write between two chunks
)

var (
	errMoved   = errors.New("the page went to another origin while it was read")
	errDenied  = errors.New("the page denies access to its storage")
	errChanged = errors.New("the storage changed while it was read")
	errAnswer  = errors.New("the page's answer is not usable")
)

type dumpArg struct {
	Origin string `json:"origin"`
	From   int    `json:"from"`
	Budget int    `json:"budget"`
}

type dumpChunk struct {
	Total  int                `json:"total"`
	Next   int                `json:"next"`
	Items  []checkpoints.Item `json:"items"`
	Denied bool               `json:"denied"`
	Moved  bool               `json:"moved"`
}

// dump reads the localStorage behind eval, which must be the origin's: a page
// that navigates in between must not put one site's data under another's name.
func dump(ctx context.Context, eval Eval, origin string) (items []checkpoints.Item, err error) {
	for range dumpAttempts {
		if items, err = dumpOnce(ctx, eval, origin); !errors.Is(err, errChanged) {
			break
		}
	}
	return items, err
}

func dumpOnce(ctx context.Context, eval Eval, origin string) ([]checkpoints.Item, error) {
	var items []checkpoints.Item
	total := -1
	for from, chunks := 0, 0; from >= 0; chunks++ {
		chunk, err := dumpAt(ctx, eval, origin, from)
		switch {
		case err != nil:
			return nil, err
		case total >= 0 && chunk.Total != total:
			return nil, errChanged
		case chunks > maxChunks || len(items)+len(chunk.Items) > maxItems || chunk.Next >= 0 && chunk.Next <= from:
			return nil, errAnswer
		}
		total, from = chunk.Total, chunk.Next
		items = append(items, chunk.Items...)
	}
	if len(items) != total {
		return nil, errChanged
	}
	return items, nil
}

func dumpAt(ctx context.Context, eval Eval, origin string, from int) (chunk dumpChunk, err error) {
	err = call(ctx, eval, storageDumpJS, dumpArg{Origin: origin, From: from, Budget: chunkChars}, &chunk)
	switch {
	case err != nil:
		return chunk, err
	case chunk.Moved:
		return chunk, errMoved
	case chunk.Denied:
		return chunk, errDenied
	}
	return chunk, nil
}

type loadArg struct {
	Origin string             `json:"origin"`
	Clear  bool               `json:"clear"`
	Items  []checkpoints.Item `json:"items"`
}

type loadAnswer struct {
	Written int    `json:"written"`
	Failed  int    `json:"failed"`
	Reason  string `json:"reason"`
}

// load writes items into the localStorage behind eval, which must be the
// origin's, in place of what it has.
func load(ctx context.Context, eval Eval, origin string, items []checkpoints.Item) (written int, reason string, err error) {
	for first := true; first || len(items) > 0; first = false {
		var chunk []checkpoints.Item
		chunk, items = cutChunk(items)
		var answer loadAnswer
		if err := call(ctx, eval, storageLoadJS, loadArg{Origin: origin, Clear: first, Items: chunk}, &answer); err != nil {
			return written, reason, err
		}
		if answer.Written < 0 || answer.Written > len(chunk) {
			return written, reason, errAnswer
		}
		written += answer.Written
		if answer.Failed > 0 && reason == "" {
			reason = clip(answer.Reason)
		}
	}
	return written, reason, nil
}

// cutChunk takes items of about chunkChars off the front, at least one.
func cutChunk(items []checkpoints.Item) (chunk, rest []checkpoints.Item) {
	size := 0
	for i, item := range items {
		if i > 0 && size >= chunkChars {
			return items[:i], items[i:]
		}
		size += len(item.Key) + len(item.Value)
	}
	return items, nil
}

// call runs one function with a JSON argument and reads its JSON answer.
func call(ctx context.Context, eval Eval, function string, arg, answer any) error {
	encoded, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("encode an argument: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, evalTime)
	defer cancel()
	text, err := eval(ctx, function, string(encoded))
	if err != nil {
		return err
	}
	if len(text) > maxChunk || json.Unmarshal([]byte(text), answer) != nil {
		return errAnswer
	}
	return nil
}

// clip bounds a text that a page chose.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100]
	}
	return s
}
