package main

import (
	"github.com/browserfleet/browserfleet/protocol"
)

type extractCmd struct {
	verb
	What   string   `arg:"" enum:"table,list,links,article" help:"table, list, links or article."`
	Region string   `arg:"" optional:"" help:"Only this part of the page, such as e12."`
	Index  int      `help:"Which of several tables or lists, from 0." default:"-1" placeholder:"N"`
	Fields []string `help:"Columns, in this order."`
	Offset int      `help:"Rows to leave out (of an article: characters)."`
	Limit  int      `help:"Rows at most." default:"100"`
	Chars  int      `help:"Characters of one value at most (default 2000, of an article 12000)." placeholder:"N"`
}

// Run reads records.
func (c *extractCmd) Run(a *app) error {
	return c.run(a, protocol.Kind("extract_"+c.What), func(s *session) protocol.Args {
		t := s.target(c.Region)
		args := &protocol.ExtractArgs{
			RegionRef: t.ElementRef, ObservationID: t.ObservationID, Fields: c.Fields, Offset: c.Offset, Limit: c.Limit, MaxTextChars: c.Chars,
		}
		if c.Index >= 0 {
			args.Index = &c.Index
		}
		return args
	})
}
