// Package deploy writes what the fleet runs on: the NATS server's configuration.
// It is generated, because two rules cannot be kept by hand: one permission line
// a shard, and mappings that never overlap.
//
// It does no I/O and starts nothing. `browserfleet nats config` prints its
// output; `browserfleet dev` and the tests run the same text.
//
// # Accounts
//
//	FLEET       owns JetStream, every stream and every service
//	tenant-T    one a tenant; no JetStream; imports four subjects of FLEET
//	SYS         the server's own account
//
// The boundary between tenants is the account. Permissions inside one account
// are not a boundary: the server answers on whatever reply subject a client
// names, so whoever may send one JetStream request could reach any subject of
// its account, STREAM.PURGE included (measured: an empty answer, reflected there,
// emptied a stream). In a tenant's account there is no such subject.
//
//	a tenant sees   kind      FLEET has
//	act.O.q, .c     service   bf.in.T.O.q, .c, mapped to bf.act.s.T.O.q, .c
//	fleet.VERB.O    service   bf.svc.T.VERB.O
//	done.O.R        stream    bf.done.T.O.R
//	events.O        stream    bf.events.T.O
//
// The tenant's token comes from the import, never from what an agent sends.
//
// # Mappings
//
// FLEET maps each tenant's lanes to a shard: partition(N,1) over the owner's
// token, which is protocol.ShardOf, or the one shard that is the tenant's own
// (protocol.ShardMap). There is one line a tenant and lane with the tenant written
// out, and no bf.in.*.* line: nats-server tries the mappings of an
// account in random order, so overlapping ones send the same owner to one shard
// today and to another after a restart. Lanes are written out too: an invented
// lane is mapped nowhere and finds no stream.
//
// One more line maps protocol.ProbeTenant, which is nobody: a coordinator asks
// through it, at its start, where the server would store requests. The server
// checks a publisher's rights on the subject that a mapping made, so the right to
// ask is one on bf.act; the question itself is refused by every stream.
//
// # Users
//
//	coordinator, worker   FLEET, with the rights of their role
//	operator              FLEET, everything: provisions streams
//	sys                   SYS
//	tenant.T              tenant-T, every owner of the tenant
//	agent.T.O             tenant-T, the one owner O
//
// The roles' rights prevent accidents; a worker or coordinator is trusted with
// the fleet. An agent bound to an owner can still push noise at another owner's
// done and events subjects of its own tenant, by naming them as reply: clients
// recognise and drop it. Agents that must not do even that get tenants of their
// own.
//
// Each user has an inbox prefix and may subscribe no other; see Inbox.
//
// # Passwords
//
// They come from the caller, plain or as bcrypt hashes ($2a$...). The text holds
// them: keep it in a file of mode 0600.
package deploy
