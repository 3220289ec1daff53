package site

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sku names a product, as in "KI-103".
type sku string

// cents is money in US cents.
type cents int

// String gives the price as the pages show it.
func (c cents) String() string { return fmt.Sprintf("$%d.%02d", int(c)/100, int(c)%100) }

type product struct {
	SKU      sku
	Name     string
	Category *category
	Price    cents
	Tagline  string
	Specs    []spec
	Stock    int
	hue      int    // of its picture, degrees
	words    string // lower case, what search looks at
}

// spec is one row of the specifications table.
type spec struct{ Label, Value string }

type category struct {
	Slug, Name, Blurb string
	Products          []*product
}

type catalog struct {
	categories []*category
	products   []*product // in file order
	bySKU      map[sku]*product
	bySlug     map[string]*category
}

// shelves are the categories in the order of the navigation.
func shelves() []*category {
	return []*category{
		{Slug: "kitchen", Name: "Kitchen", Blurb: "Pans, mugs and boards for daily use."},
		{Slug: "lighting", Name: "Lighting", Blurb: "Lamps to read, work and wind down by."},
		{Slug: "outdoors", Name: "Outdoors", Blurb: "Kit that is carried, and carried on with."},
		{Slug: "desk", Name: "Desk", Blurb: "Paper, pens and a place to put them."},
		{Slug: "garden", Name: "Garden", Blurb: "Tools and pots for a small plot."},
	}
}

// everything is the slug of the list of all products.
const everything = "all"

const catalogFields = 9

func loadCatalog() (*catalog, error) {
	text, err := assets.ReadFile("assets/catalog.txt")
	if err != nil {
		return nil, err
	}
	return parseCatalog(text)
}

func parseCatalog(text []byte) (*catalog, error) {
	c := &catalog{categories: shelves(), bySKU: map[sku]*product{}, bySlug: map[string]*category{}}
	for _, shelf := range c.categories {
		c.bySlug[shelf.Slug] = shelf
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	c.bySlug[everything] = &category{
		Slug: everything, Name: "All products", Blurb: "The whole shop, shelf by shelf.", Products: c.products,
	}
	return c, lines.Err()
}

func (c *catalog) add(line string) error {
	fields := strings.Split(line, "|")
	if len(fields) != catalogFields {
		return fmt.Errorf("%d fields, want %d", len(fields), catalogFields)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	shelf := c.bySlug[fields[0]]
	if shelf == nil {
		return fmt.Errorf("unknown category %q", fields[0])
	}
	price, errPrice := strconv.Atoi(fields[2])
	grams, errGrams := strconv.Atoi(fields[6])
	stock, errStock := strconv.Atoi(fields[8])
	if err := errors.Join(errPrice, errGrams, errStock); err != nil {
		return err
	}
	n := len(shelf.Products)
	p := &product{
		// The number follows the line's place on its shelf: add new lines at a shelf's end.
		SKU:      sku(fmt.Sprintf("%s-%d", strings.ToUpper(shelf.Slug[:2]), 101+n)),
		Name:     fields[1],
		Category: shelf,
		Price:    cents(price),
		Tagline:  fields[3],
		Stock:    stock,
		hue:      (len(c.products)*47 + 12) % 360, // 47 and 360 share no factor: neighbours differ
		words:    strings.ToLower(strings.Join([]string{fields[1], fields[3], fields[4], shelf.Name}, " ")),
	}
	p.Specs = specsOf(p, fields[4], fields[5], fields[7], grams)
	shelf.Products = append(shelf.Products, p)
	c.products = append(c.products, p)
	c.bySKU[p.SKU] = p
	return nil
}

func specsOf(p *product, material, size, madeIn string, grams int) []spec {
	return []spec{
		{"Article number", string(p.SKU)},
		{"Material", material},
		{"Size", strings.ReplaceAll(size, " x ", " × ") + " cm"},
		{"Weight", weight(grams)},
		{"Made in", madeIn},
		{"Warranty", fmt.Sprintf("%d years", 2+len(p.Name)%4)},
		{"Ships within", fmt.Sprintf("%d working days", 1+len(p.Tagline)%3)},
	}
}

func weight(grams int) string {
	if grams < 1000 {
		return fmt.Sprintf("%d g", grams)
	}
	return fmt.Sprintf("%.2f kg", float64(grams)/1000)
}
