package checkpoints

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// encVersion of the parts that this version writes.
const encVersion = 1

const (
	cookiesPart     PartID = "cookies"
	storagePartStem string = "ls:" // and the storage key
)

// cookiesContent is the content of the cookies part.
type cookiesContent struct {
	Cookies []Cookie `json:"cookies"`
}

// known says whether this version reads parts of the kind.
func (k PartKind) known() bool { return k == PartCookies || k == PartLocalStorage }

// splitState encodes a state as parts, in order of their ids. A part whose
// content is the same as in prev keeps its stored bytes and key; parts of prev
// that this version cannot read are carried on unchanged.
func splitState(env EnvID, s State, seq uint64, prev []storedPart) ([]storedPart, error) {
	old := make(map[PartID]storedPart, len(prev))
	var parts []storedPart
	for _, p := range prev {
		old[p.ID] = p
		if !p.Kind.known() {
			parts = append(parts, p)
		}
	}
	total := 0
	add := func(id PartID, kind PartKind, content any) error {
		raw, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("encode a part: %w", err)
		}
		if total += len(raw); len(raw) > maxPartRaw || total > maxStateRaw {
			return fmt.Errorf("state of at least %d bytes: %w", total, ErrTooLarge)
		}
		parts = append(parts, sealPart(env, id, kind, raw, seq, old[id]))
		return nil
	}
	s = s.canonical()
	if len(s.Cookies) > 0 {
		if err := add(cookiesPart, PartCookies, cookiesContent{s.Cookies}); err != nil {
			return nil, err
		}
	}
	for _, area := range s.LocalStorage {
		if n := area.bytes(); n > maxPartRaw { // before it is encoded in memory
			return nil, fmt.Errorf("storage area of %d bytes: %w", n, ErrTooLarge)
		}
		if err := add(PartID(storagePartStem+string(area.StorageKey)), PartLocalStorage, area); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(parts, func(a, b storedPart) int { return cmp.Compare(a.ID, b.ID) })
	return parts, nil
}

// sealPart encrypts a part under a key of its own, or returns old when that
// holds the same bytes.
func sealPart(env EnvID, id PartID, kind PartKind, raw []byte, seq uint64, old storedPart) storedPart {
	sum := Digest(sha256.Sum256(raw))
	if old.ID == id && old.Kind == kind && old.RawSHA256 == sum && old.EncVersion == encVersion {
		return old
	}
	key := newKey()
	stored := sealBox(key, compress(raw), partAAD(env, id))
	return storedPart{
		stored: stored,
		partRecord: partRecord{DEK: key[:], Part: Part{
			ID: id, Kind: kind, EncVersion: encVersion, BornSeq: seq, Comp: compZstd,
			RawSize: len(raw), RawSHA256: sum,
			StoredSize: len(stored), StoredSHA256: sha256.Sum256(stored),
		}},
	}
}

// partAAD binds a part's bytes to its environment, id and kind of place. The
// sequence is not in it: unchanged bytes move from checkpoint to checkpoint.
func partAAD(env EnvID, id PartID) []byte {
	return lengthPrefixed("bfck part 1", string(env), string(id), "inline")
}

// joinState opens the parts and puts the state together. unread counts the
// parts that a newer version wrote.
func joinState(env EnvID, tabs []Tab, parts []storedPart) (s State, unread int, err error) {
	s.Tabs = slices.Clone(tabs)
	total := 0
	for i, p := range parts {
		if !p.Kind.known() {
			unread++
			continue
		}
		if total += p.RawSize; p.RawSize < 0 || p.RawSize > maxPartRaw || total > maxStateRaw {
			return s, 0, corrupt(StagePart, "part %d is over the limit", i)
		}
		raw, err := openPart(env, p)
		if err != nil {
			return s, 0, corrupt(StagePart, "part %d: %v", i, err)
		}
		if err := s.take(p.Kind, raw); err != nil {
			return s, 0, corrupt(StagePart, "part %d does not parse", i)
		}
	}
	return s, unread, nil
}

func openPart(env EnvID, p storedPart) ([]byte, error) {
	if p.EncVersion > encVersion || p.Comp != compZstd || len(p.DEK) != keySize {
		return nil, fmt.Errorf("encoding %d, compression %q", p.EncVersion, p.Comp)
	}
	packed, err := openBox([keySize]byte(p.DEK), p.stored, partAAD(env, p.ID))
	if err != nil {
		return nil, fmt.Errorf("does not open")
	}
	raw, err := decompress(packed, p.RawSize)
	if err != nil {
		return nil, err
	}
	if Digest(sha256.Sum256(raw)) != p.RawSHA256 {
		return nil, fmt.Errorf("differs from its digest")
	}
	return raw, nil
}

// take reads one part's content into the state.
func (s *State) take(kind PartKind, raw []byte) error {
	switch kind {
	case PartCookies:
		var c cookiesContent
		if err := json.Unmarshal(raw, &c); err != nil {
			return err
		}
		s.Cookies = append(s.Cookies, c.Cookies...)
	case PartLocalStorage:
		var area StorageArea
		if err := json.Unmarshal(raw, &area); err != nil {
			return err
		}
		s.LocalStorage = append(s.LocalStorage, area)
	}
	return nil
}
