package natsx

import (
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// maxTokenLen bounds one token, in bytes: the longest legal one is an id.
const maxTokenLen = 128

// checkSubject refuses a subject with a token outside [A-Za-z0-9_-]. Subjects
// are built from stored data: a raw publish can store the literal token "*",
// and purging "its" subject would empty every queue that the wildcard matches.
// The one exception is $KV, the first token of buckets' subjects.
func checkSubject(subject string) error {
	for i, token := range strings.Split(subject, ".") {
		if i == 0 && token == "$KV" {
			continue
		}
		if !protocol.ValidToken(token, maxTokenLen) {
			return fmt.Errorf("%w: token %d of %.120q", ErrToken, i+1, subject)
		}
	}
	return nil
}

// checkFilter is checkSubject for filters that only count: whole-token
// wildcards are allowed. No read, write or purge takes such a filter.
func checkFilter(filter string) error {
	tokens := strings.Split(filter, ".")
	for i, token := range tokens {
		if token == "*" || (token == ">" && i == len(tokens)-1) {
			continue
		}
		if !protocol.ValidToken(token, maxTokenLen) {
			return fmt.Errorf("%w: token %d of %.120q", ErrToken, i+1, filter)
		}
	}
	return nil
}

// checkStream refuses names that would change the API subject they stand in.
func checkStream(name string) error {
	if !protocol.ValidToken(name, maxTokenLen) {
		return fmt.Errorf("%w: stream name %.120q", ErrToken, name)
	}
	return nil
}
