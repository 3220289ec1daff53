package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// simulatedSteps has the same steps for the simulated browser, whose one page has
// a search field and two links, and whose state counts fills. It shows the fleet,
// not the browser: what is sent, moved, restored and answered once.
func simulatedSteps() []step {
	const site = "http://simulated.invalid/"
	open := func(path string) func(context.Context, *agent) error {
		return func(ctx context.Context, a *agent) error {
			_, err := a.open(ctx, site+path)
			return err
		}
	}
	return []step{
		{"open", "open the page", open("")},
		{"observe", "look at the page", observe},
		{"search", "fill the field and press Enter", func(ctx context.Context, a *agent) error { return simulatedSearch(ctx, a, site) }},
		{"result", "click a link", func(ctx context.Context, a *agent) error {
			if err := a.at(ctx, site); err != nil {
				return err
			}
			link, err := a.must("link", "One")
			if err != nil {
				return err
			}
			return a.click(ctx, link)
		}},
		{"login", "fill the field again", func(ctx context.Context, a *agent) error { return simulatedSearch(ctx, a, site) }},
		{"extract", "read a table", func(ctx context.Context, a *agent) error {
			if err := a.at(ctx, site); err != nil {
				return err
			}
			_, err := a.do(ctx, protocol.KindExtractTable, &protocol.ExtractArgs{})
			return err
		}},
		{"screenshot", "take a picture", screenshot},
		{name: stepKill, title: "kill the worker that holds the environment (SIGKILL)"},
		{"account", "open the page again", func(ctx context.Context, a *agent) error {
			if _, err := a.open(ctx, site+"account"); err != nil {
				return err
			}
			if strings.Contains(a.page.Text, "Fills: 0.") {
				return fmt.Errorf("the state is lost: %q", a.page.Text)
			}
			return nil
		}},
	}
}

func simulatedSearch(ctx context.Context, a *agent, site string) error {
	if err := a.at(ctx, site); err != nil {
		return err
	}
	field, err := a.must("searchbox", "Search")
	if err != nil {
		return err
	}
	if err := a.fill(ctx, field, "lamp"); err != nil {
		return err
	}
	_, err = a.do(ctx, protocol.KindPress, &protocol.PressArgs{Target: a.target(field), Key: "Enter"})
	return err
}
