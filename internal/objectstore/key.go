package objectstore

import (
	"fmt"
	"strings"
)

// Limits of a key. Stores that keep objects as files refuse path segments of
// 256 bytes and a key that is also a folder of other keys; S3 allows 1024 bytes.
const (
	maxKeyBytes     = 700
	maxSegmentBytes = 200
)

// checkKey accepts keys of lower-case letters, digits, '.', '-', '_' and '/',
// which no store folds, escapes or refuses.
func checkKey(key string) error {
	if key == "" || len(key) > maxKeyBytes {
		return fmt.Errorf("%w: length %d", ErrInvalidKey, len(key))
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > maxSegmentBytes {
			return fmt.Errorf("%w: bad segment", ErrInvalidKey)
		}
	}
	for _, c := range []byte(key) {
		if !keyByte(c) {
			return fmt.Errorf("%w: byte %#x", ErrInvalidKey, c)
		}
	}
	return nil
}

func keyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' ||
		c == '/' || c == '.' || c == '-' || c == '_'
}

// checkPrefix is checkKey for the start of a key: it may end in a slash.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return checkKey(strings.TrimSuffix(prefix, "/"))
}
