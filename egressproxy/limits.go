package egressproxy

import "time"

// Limits bound what one environment may take. A zero field means the default.
type Limits struct {
	HeaderBytes int           // of a request or response head, 64 KiB
	Connections int           // open client connections, 512; Chromium opens at most 32 plus 255 WebSockets a proxy
	HeadTimeout time.Duration // from the first octet of a request head to its end, 10 s
	KeepAlive   time.Duration // an idle client connection between requests, 60 s
	IdleTimeout time.Duration // a tunnel or an exchange without any octet, 10 min
	DNSTimeout  time.Duration // one resolution, 5 s
	DialTimeout time.Duration // all connection attempts of a request together, 10 s
}

func (l Limits) withDefaults() Limits {
	fill(&l.HeaderBytes, 64<<10)
	fill(&l.Connections, 512)
	fill(&l.HeadTimeout, 10*time.Second)
	fill(&l.KeepAlive, 60*time.Second)
	fill(&l.IdleTimeout, 10*time.Minute)
	fill(&l.DNSTimeout, 5*time.Second)
	fill(&l.DialTimeout, 10*time.Second)
	return l
}

func fill[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
