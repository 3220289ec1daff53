package site

import "fmt"

// placedOrder is one row of the account's orders table.
type placedOrder struct {
	Number string
	Date   string
	Items  string
	Status string
	Total  cents
}

// history is what every account has bought before. Its dates are fixed, like
// the rest of the content.
func history() []placedOrder {
	return []placedOrder{
		{"NL-20416", "2026-03-11", "Keeper Desk Lamp", "On its way", 11800},
		{"NL-20388", "2026-02-24", "Fieldstone Mug × 4", "Delivered", 7200},
		{"NL-20311", "2026-01-30", "Meridian Notebook, Dotted × 2", "Delivered", 3800},
		{"NL-20274", "2025-12-18", "Wool Camp Blanket", "Delivered", 8900},
		{"NL-20190", "2025-11-02", "Copper Watering Can", "Returned", 9200},
		{"NL-20145", "2025-10-15", "Carbon Steel Pan 26", "Delivered", 5900},
	}
}

// newOrder is the n-th order (from 0) that a session places.
func newOrder(n int, lines []cartLine) placedOrder {
	o := placedOrder{
		Number: fmt.Sprintf("NL-%d", 20417+n),
		Date:   "Today",
		Status: "Received",
	}
	for i, l := range lines {
		if i > 0 {
			o.Items += "; "
		}
		o.Items += l.Product.Name
		if l.Quantity > 1 {
			o.Items += fmt.Sprintf(" × %d", l.Quantity)
		}
		o.Total += l.Subtotal
	}
	return o
}
