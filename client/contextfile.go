package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// contextFile is what a NATS context file (as the nats command writes it) says
// that matters here.
type contextFile struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    Secret `json:"password"`
	Creds       string `json:"creds"`
	InboxPrefix string `json:"inbox_prefix"`
}

// fromContextFile fills what is not set already.
func (o *Options) fromContextFile() error {
	if o.ContextFile == "" {
		if o.URL == "" {
			return errors.New("no URL of a NATS server was given")
		}
		return nil
	}
	text, err := os.ReadFile(o.ContextFile)
	if err != nil {
		return fmt.Errorf("NATS context: %w", err)
	}
	var f contextFile
	if err := json.Unmarshal(text, &f); err != nil {
		// The decoder's own error may quote the file, which holds a password.
		return fmt.Errorf("NATS context %s is not JSON", o.ContextFile)
	}
	set := func(to *string, from string) {
		if *to == "" {
			*to = from
		}
	}
	set(&o.URL, f.URL)
	set(&o.User, f.User)
	set(&o.CredsFile, f.Creds)
	set(&o.InboxPrefix, f.InboxPrefix)
	if o.Password == "" {
		o.Password = f.Password
	}
	if o.URL == "" {
		return fmt.Errorf("NATS context %s names no url", o.ContextFile)
	}
	return nil
}

// shownURL is the URL without a user and password that somebody put there.
func (o *Options) shownURL() string {
	var out []string
	for one := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return "[unreadable]"
		}
		u.User = nil
		out = append(out, u.String())
	}
	return strings.Join(out, ",")
}
