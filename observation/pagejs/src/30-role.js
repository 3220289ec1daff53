// Roles: explicit, else implicit by HTML-AAM 1.0. Only roles that an agent can
// act on; what has none of them but takes clicks or focus is "generic".

const ACTION_ROLES = new Set([
  "button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox", "slider", "spinbutton",
  "switch", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem",
]);

/** Roles of WAI-ARIA 1.2 that make no element actionable; an unknown token is skipped. */
const OTHER_ROLES = new Set([
  "alert", "alertdialog", "application", "article", "banner", "blockquote", "caption", "cell", "code", "columnheader",
  "complementary", "contentinfo", "definition", "deletion", "dialog", "directory", "document", "emphasis", "feed",
  "figure", "form", "generic", "grid", "gridcell", "group", "heading", "img", "image", "insertion", "list", "listitem",
  "log", "main", "marquee", "math", "menu", "menubar", "meter", "navigation", "note", "paragraph", "progressbar",
  "radiogroup", "region", "row", "rowgroup", "rowheader", "scrollbar", "search", "separator", "status", "strong",
  "subscript", "superscript", "table", "tablist", "tabpanel", "term", "time", "timer", "toolbar", "tooltip", "tree",
  "treegrid",
]);

/** @type {Record<string, string>} */
const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", file: "button", checkbox: "checkbox",
  radio: "radio", range: "slider", number: "spinbutton", hidden: "",
};

/** @type {(el: Element) => boolean} */
const isFocusable = (el) => hasAttribute(el, "tabindex") || ["button", "input", "select", "textarea", "summary"].includes(localName(el)) || hasAttribute(el, "href");

/** The role that the element declares. @type {(el: Element) => string} */
const explicitRole = (el) => {
  const declared = attributeOf(el, "role");
  if (!declared) return "";
  for (const token of declared.toLowerCase().split(/\s+/)) {
    if (ACTION_ROLES.has(token) || OTHER_ROLES.has(token)) return token;
    // Presentational focusable elements keep their own role (WAI-ARIA 1.2, 5.3.3).
    if ((token === "none" || token === "presentation") && !isFocusable(el)) return "none";
  }
  return "";
};

/** @type {(el: HTMLInputElement) => string} */
const inputRole = (el) => {
  const type = el.type;
  const listed = hasAttribute(el, "list") && ["text", "search", "email", "tel", "url"].includes(type);
  if (listed) return "combobox";
  if (type === "search") return "searchbox";
  return type in INPUT_ROLES ? INPUT_ROLES[type] : "textbox";
};

/** @type {(el: Element) => boolean} */
const isEditingHost = (el) => {
  const value = attributeOf(el, "contenteditable");
  return value !== null && ["", "true", "plaintext-only"].includes(value.toLowerCase());
};

/** The summary that opens its details. @type {(el: Element) => boolean} */
const isSummary = (el) => {
  const parent = parentNode(el);
  return isHTML(el, "summary") && parent !== null && nodeType(parent) === 1 && isHTML(parent, "details") && queryOne(parent, ":scope > summary") === el;
};

/** The role by the element's name, "" for none that acts. @type {(el: Element) => string} */
const implicitRole = (el) => {
  switch (localName(el)) {
    case "a":
      return hasAttribute(el, "href") || hasAttribute(el, "xlink:href") ? "link" : "";
    case "area":
      return hasAttribute(el, "href") ? "link" : "";
    case "button":
      return "button";
    case "input":
      return isHTML(el, "input") ? inputRole(/** @type {HTMLInputElement} */ (el)) : "";
    case "textarea":
      return "textbox";
    case "select":
      return hasAttribute(el, "multiple") || Number(attributeOf(el, "size")) > 1 ? "listbox" : "combobox";
    case "summary":
      return isSummary(el) ? "button" : "";
  }
  return "";
};

/** The role under which the element is listed, or "" when it is not. @type {(el: Element) => string} */
const actionRole = (el) => {
  const implicit = implicitRole(el);
  if (!hasAttributes(el)) return implicit;
  const explicit = explicitRole(el);
  if (ACTION_ROLES.has(explicit)) return explicit;
  if (implicit !== "") return implicit;
  if (isHTML(el, "input")) return "";
  if (isEditingHost(el)) return "textbox";
  const tabindex = attributeOf(el, "tabindex");
  if ((tabindex !== null && Number(tabindex) >= 0) || hasAttribute(el, "onclick")) {
    return isHTML(el, "body") || isHTML(el, "html") ? "" : "generic";
  }
  return "";
};

/** Any role, for names and landmarks. @type {(el: Element) => string} */
const anyRole = (el) => explicitRole(el) || implicitRole(el);
