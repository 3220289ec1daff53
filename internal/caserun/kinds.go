package caserun

import "github.com/browserfleet/browserfleet/protocol"

// notListed is what an action fails with whose target no observation shows: an
// agent cannot even ask for it.
const notListed = "not_listed"

// kinds are the names that the cases have for our codes. A code without a row has
// the same name there.
var kinds = map[protocol.Code]string{
	protocol.CodeElementDisabled:      "disabled",
	protocol.CodeRefChanged:           "changed",
	protocol.CodeNotVisible:           notListed,
	protocol.CodeActionTimeout:        "timeout",
	protocol.CodePageCrashed:          "crashed",
	protocol.CodeInvalidURL:           "bad_url",
	protocol.CodePolicyDenied:         "deny",
	protocol.CodeRendererUnresponsive: "page_busy",
	protocol.CodeBrowserLost:          "target_closed",
}

func kindOf(c protocol.Code) string {
	if name, ok := kinds[c]; ok {
		return name
	}
	return string(c)
}
