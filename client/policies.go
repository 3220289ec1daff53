package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/browserfleet/browserfleet/protocol"
)

// StoredPolicy is a version of a tenant's policy, or of its quotas.
type StoredPolicy struct {
	Tenant protocol.Tenant `json:"tenant"`
	Name   string          `json:"name"`
	// Revision rises with each version of any document; At is when it was written.
	Revision uint64          `json:"revision"`
	At       protocol.Time   `json:"at"`
	Document json.RawMessage `json:"document"`
}

// Quotas is the name of the document that holds a tenant's quotas.
const Quotas = "quotas"

func documentKey(t protocol.Tenant, name string) (string, error) {
	if _, err := protocol.ParseTenant(string(t)); err != nil {
		return "", protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)
	}
	if name == Quotas {
		return protocol.QuotasKey(t), nil
	}
	if !protocol.ValidToken(name, protocol.MaxIDLen) {
		return "", protocol.Errorf(protocol.CodeInvalidArgument, "policy %q: want 1-%d of A-Z a-z 0-9 _ -", name, protocol.MaxIDLen)
	}
	return protocol.PolicyKey(t, name), nil
}

func (o *Operator) documents(ctx context.Context) (jetstream.KeyValue, error) {
	js, err := jetstream.New(o.nc)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "%v", err)
	}
	bucket, err := js.KeyValue(ctx, protocol.PolicyBucket)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "open %s: %v", protocol.PolicyBucket, err)
	}
	return bucket, nil
}

// PutPolicy writes a document that the caller has checked. Workers apply it at once,
// to environments that are open, too. It returns the revision.
func (o *Operator) PutPolicy(ctx context.Context, t protocol.Tenant, name string, document []byte) (uint64, error) {
	key, err := documentKey(t, name)
	if err != nil {
		return 0, err
	}
	bucket, err := o.documents(ctx)
	if err != nil {
		return 0, err
	}
	revision, err := bucket.Put(ctx, key, document)
	if err != nil {
		return 0, protocol.Errorf(protocol.CodeUnavailable, "write %s: %v", key, err)
	}
	return revision, nil
}

// Policy reads a document.
func (o *Operator) Policy(ctx context.Context, t protocol.Tenant, name string) (*StoredPolicy, error) {
	key, err := documentKey(t, name)
	if err != nil {
		return nil, err
	}
	bucket, err := o.documents(ctx)
	if err != nil {
		return nil, err
	}
	return readPolicy(ctx, bucket, key)
}

func readPolicy(ctx context.Context, bucket jetstream.KeyValue, key string) (*StoredPolicy, error) {
	entry, err := bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "there is no %s", key)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "read %s: %v", key, err)
	}
	parts := strings.Split(key, ".")
	stored := &StoredPolicy{
		Tenant: protocol.Tenant(parts[1]), Name: parts[len(parts)-1], Revision: entry.Revision(),
		At: protocol.At(entry.Created()), Document: entry.Value(),
	}
	if !json.Valid(stored.Document) { // shown all the same
		quoted, _ := json.Marshal(string(entry.Value()))
		stored.Document = quoted
	}
	return stored, nil
}

// Policies lists all documents, by tenant and name.
func (o *Operator) Policies(ctx context.Context) ([]StoredPolicy, error) {
	bucket, err := o.documents(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := bucket.ListKeysFiltered(ctx, "tenant.*.quotas", "tenant.*.policy.*")
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "list %s: %v", protocol.PolicyBucket, err)
	}
	var names []string
	for key := range keys.Keys() {
		names = append(names, key)
	}
	slices.Sort(names)
	all := []StoredPolicy{}
	for _, key := range names {
		stored, err := readPolicy(ctx, bucket, key)
		var failed *protocol.Error
		if errors.As(err, &failed) && failed.Code == protocol.CodeNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *stored)
	}
	return all, nil
}

// DeletePolicy removes a document. Environments that run under a named policy that is
// gone reach nothing any more.
func (o *Operator) DeletePolicy(ctx context.Context, t protocol.Tenant, name string) error {
	key, err := documentKey(t, name)
	if err != nil {
		return err
	}
	bucket, err := o.documents(ctx)
	if err != nil {
		return err
	}
	if _, err := readPolicy(ctx, bucket, key); err != nil {
		return err
	}
	if err := bucket.Delete(ctx, key); err != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "delete %s: %v", key, err)
	}
	return nil
}
