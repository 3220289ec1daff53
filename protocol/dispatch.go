package protocol

// DispatchEntry is a line of a worker's dispatch log, written and flushed before
// the first command of an action that can have an effect. Together with the
// streams it shows whether anything was dispatched twice.
type DispatchEntry struct {
	At         Time       `json:"at"`
	Key        OwnerKey   `json:"key"`
	Request    RequestID  `json:"request"`
	Seq        Seq        `json:"seq"`
	Kind       Kind       `json:"kind"`
	Effect     Effect     `json:"effect"`
	Worker     WorkerID   `json:"worker"`
	Epoch      Epoch      `json:"epoch"`
	Generation Generation `json:"generation"`
	Attempt    int        `json:"attempt"`
}
