// Package credentials holds the secrets that agents may use by name. An agent
// never sees a value: the worker fills it into the page, if the page's origin is
// one of the credential's, and its use was approved.
//
// It owns the check of who may use what where. It never logs a value, never puts
// one into an error, and knows no browser. A Store is immutable and safe for
// concurrent use; the package starts no goroutine.
//
// # File
//
// A JSON list, readable by its owner only:
//
//	[{"name":"shop","tenant":"dev","origins":["https://shop.example"],
//	  "env":"SHOP_PASSWORD","pre_approved":true}]
//
// any_field lets it into fields that show what is typed (a user name); without it
// only password fields take it. env names a variable of the worker's environment; value holds the secret
// itself. Values below six characters are refused: they could not be masked in
// what a page shows.
package credentials
