package protocol

// WaitArgs wait for a condition.
type WaitArgs struct {
	Target
	// Until is load, network-idle, quiet, text, url, element-visible or
	// element-hidden.
	Until string `json:"until"`
	// Text or URL is a substring that must appear.
	Text string `json:"text,omitempty"`
	URL  string `json:"url,omitempty"`
	// Role and Name are of an element that no observation has shown yet, in place
	// of element_ref: the role exactly, of the name a part, in any case.
	Role string `json:"role,omitempty"`
	Name string `json:"name,omitempty"`
	// TimeoutMS: default 10,000, at most 30,000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// maxWaitName bounds a name, in bytes.
const maxWaitName = 500

// Validate checks that the condition has what it needs.
func (a *WaitArgs) Validate() *Error {
	if a.TimeoutMS < 0 || a.TimeoutMS > 30_000 {
		return Errorf(CodeInvalidArgument, "timeout_ms %d: want 1-30000", a.TimeoutMS)
	}
	switch a.Until {
	case "load", "network-idle", "quiet":
		return nil
	case "text":
		if a.Text == "" {
			return Errorf(CodeInvalidArgument, "until text: the field text is missing")
		}
		return nil
	case "url":
		if a.URL == "" {
			return Errorf(CodeInvalidArgument, "until url: the field url is missing")
		}
		return nil
	case "element-visible", "element-hidden":
		return a.checkElement()
	}
	return Errorf(CodeInvalidArgument, "until %q: want load, network-idle, quiet, text, url, element-visible or element-hidden", clip(a.Until, 20))
}

// checkElement wants a ref, or a role.
func (a *WaitArgs) checkElement() *Error {
	switch {
	case a.Role == "" && a.Name == "":
		return a.check(true)
	case a.ElementRef != "":
		return Errorf(CodeInvalidArgument, "want either element_ref or role and name")
	case !rolePattern.MatchString(a.Role):
		return Errorf(CodeInvalidArgument, "role %q: want one such as button, link or textbox", clip(a.Role, 40))
	case len(a.Name) > maxWaitName:
		return Errorf(CodeInvalidArgument, "name has %d bytes; at most %d", len(a.Name), maxWaitName)
	}
	return nil
}
