package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// step is a goal with the way to it.
type step struct {
	name  string
	title string
	run   func(ctx context.Context, a *agent) error
}

// Names of steps that the runner itself knows.
const (
	stepKill = "kill"
	// product is what the agent looks for in the bundled shop.
	product = "Keeper Desk Lamp"
)

// shopSteps is the work in the bundled shop.
func shopSteps(site string) []step {
	return []step{
		{"open", "open the shop", func(ctx context.Context, a *agent) error {
			_, err := a.open(ctx, site+"/")
			return err
		}},
		{"observe", "look at the page", observe},
		{"search", "search for a lamp", func(ctx context.Context, a *agent) error { return search(ctx, a, site) }},
		{"result", "click a result", func(ctx context.Context, a *agent) error { return result(ctx, a, site) }},
		{"login", "sign in, with a password that the agent never sees", func(ctx context.Context, a *agent) error { return login(ctx, a, site) }},
		{"extract", "read the table of orders", func(ctx context.Context, a *agent) error { return orders(ctx, a, site) }},
		{"screenshot", "take a picture", screenshot},
		{name: stepKill, title: "kill the worker that holds the environment (SIGKILL)"},
		{"account", "open the account page again", func(ctx context.Context, a *agent) error {
			if _, err := a.open(ctx, site+"/account"); err != nil {
				return err
			}
			return signedIn(a)
		}},
	}
}

func observe(ctx context.Context, a *agent) error {
	_, err := a.do(ctx, protocol.KindObserve, &protocol.ObserveArgs{})
	return err
}

func search(ctx context.Context, a *agent, site string) error {
	if a.find("searchbox", "Search the shop") == "" {
		if err := a.at(ctx, site+"/"); err != nil {
			return err
		}
	}
	field, err := a.must("searchbox", "Search the shop")
	if err != nil {
		return err
	}
	if err := a.fill(ctx, field, "lamp"); err != nil {
		return err
	}
	if _, err := a.do(ctx, protocol.KindPress, &protocol.PressArgs{Target: a.target(field), Key: "Enter"}); err != nil {
		return err
	}
	return a.arrive(ctx, site+"/search?q=lamp")
}

func result(ctx context.Context, a *agent, site string) error {
	if strings.HasPrefix(a.url(), site+"/product/") {
		return nil // the click before this look had worked
	}
	if err := a.at(ctx, site+"/search?q=lamp"); err != nil {
		return err
	}
	link, err := a.must("link", product)
	if err != nil {
		return err
	}
	if err := a.click(ctx, link); err != nil {
		return err
	}
	return a.arrive(ctx, site+"/product/")
}

// login signs in, unless the page shows that it is done.
func login(ctx context.Context, a *agent, site string) error {
	if strings.HasPrefix(a.url(), site+"/account") && signedIn(a) == nil {
		return nil
	}
	if a.find("textbox", "Username") == "" {
		if _, err := a.open(ctx, site+"/login"); err != nil {
			return err
		}
		if strings.HasPrefix(a.url(), site+"/account") { // signed in by an attempt before
			return signedIn(a)
		}
	}
	user, err := a.must("textbox", "Username")
	if err != nil {
		return err
	}
	if err := a.fill(ctx, user, devfleet.SiteUser); err != nil {
		return err
	}
	password, err := a.must("textbox", "Password")
	if err != nil {
		return err
	}
	secret := &protocol.FillCredentialArgs{Target: a.target(password), CredentialRef: devfleet.CredentialName}
	if _, err := a.do(ctx, protocol.KindFillCredential, secret); err != nil {
		return err
	}
	button, err := a.must("button", "Sign in")
	if err != nil {
		return err
	}
	if err := a.click(ctx, button); err != nil {
		return err
	}
	if err := a.arrive(ctx, site+"/account"); err != nil {
		return err
	}
	return signedIn(a)
}

// signedIn checks cookies (the shop greets the user) and localStorage (the page's
// script remembers the sign-in) by what the page shows.
func signedIn(a *agent) error {
	switch {
	case !a.shows("You are signed in as " + devfleet.SiteUser):
		return fmt.Errorf("not signed in: the page at %s does not greet %s", a.url(), devfleet.SiteUser)
	case !a.shows("This browser remembers: signed in as " + devfleet.SiteUser):
		return fmt.Errorf("the page's localStorage is lost")
	}
	return nil
}

func orders(ctx context.Context, a *agent, site string) error {
	if err := a.at(ctx, site+"/account"); err != nil {
		return err
	}
	res, err := a.do(ctx, protocol.KindExtractTable, &protocol.ExtractArgs{Limit: 5})
	if err != nil {
		return err
	}
	x := res.Extraction
	if x == nil || len(x.Rows) == 0 {
		return fmt.Errorf("no table was found at %s", a.url())
	}
	view.Extraction(a.out, x)
	return nil
}

func screenshot(ctx context.Context, a *agent) error {
	res, err := a.do(ctx, protocol.KindScreenshot, &protocol.ScreenshotArgs{})
	if err != nil {
		return err
	}
	s := res.Screenshot
	if s == nil || len(s.Data) == 0 {
		return fmt.Errorf("the answer holds no picture")
	}
	fmt.Fprintf(a.out, "%s, %d x %d, %d bytes\n", s.MediaType, s.Width, s.Height, len(s.Data))
	return nil
}
