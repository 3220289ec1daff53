package checkpoints

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// boxOverhead is what sealBox adds: 12 bytes of nonce, 16 of tag.
const boxOverhead = 12 + 16

func newKey() (key [keySize]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}

// sealBox is AES-256-GCM with a random nonce in front of the text.
func sealBox(key [keySize]byte, plain, aad []byte) []byte {
	// NewGCMWithRandomNonce keeps nonce and counter out of our hands.
	return newGCM(key).Seal(nil, nil, plain, aad)
}

func openBox(key [keySize]byte, box, aad []byte) ([]byte, error) {
	return newGCM(key).Open(nil, nil, box, aad)
}

func newGCM(key [keySize]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("aes: a 32-byte key was refused: " + err.Error()) // cannot happen
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("gcm: " + err.Error()) // cannot happen with AES
	}
	return aead
}

// The encoder and decoder are safe for concurrent EncodeAll and DecodeAll and,
// used so, start no goroutine. Fastest costs 1 ms for 200 KB of
// JSON; the next level twice that for 6 % less (measured).
var (
	zstdEncoder = newEncoder()
	zstdDecoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPartRaw),
		zstd.WithDecodeAllCapLimit(true)))
	zstdBodyDecoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBodyRaw)))
)

// newEncoder uses the encoder once: it makes its inner channel at first use, and
// one made inside a testing/synctest bubble is fatal to everybody outside.
func newEncoder() *zstd.Encoder {
	e := must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest)))
	_ = e.EncodeAll([]byte{0}, nil)
	return e
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func compress(raw []byte) []byte { return zstdEncoder.EncodeAll(raw, nil) }

// decompressBody is decompress for the manifest's body, whose size nothing tells.
func decompressBody(packed []byte) ([]byte, error) {
	raw, err := zstdBodyDecoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return raw, nil
}

var errRawSize = errors.New("raw size is wrong")

// decompress gives exactly size bytes or an error; it never allocates more, so
// that a small object cannot become a large one.
func decompress(packed []byte, size int) ([]byte, error) {
	raw, err := zstdDecoder.DecodeAll(packed, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if len(raw) != size {
		return nil, errRawSize
	}
	return raw, nil
}
