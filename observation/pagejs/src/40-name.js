// Accessible names, after accname 1.2, in one pass over what is listed. The
// letters in comments are the steps of its computation.
//
// Left out: text of ::before and ::after, except for a name that is empty
// otherwise (a style lookup per element would double the cost of a pass).

const MAX_NAME = 200;
const MAX_NAME_DEPTH = 100;

const NAMED_BY_CONTENT = new Set([
  "button", "cell", "checkbox", "columnheader", "generic", "gridcell", "heading", "link", "menuitem",
  "menuitemcheckbox", "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem",
]);

const BUTTON_TYPES = new Set(["button", "submit", "reset"]);

/**
 * @typedef {object} Naming State of one computation.
 * @property {Set<Node>} seen what was visited: 2A of accname, against cycles
 * @property {boolean} hidden a hidden reference is being read
 * @property {boolean} referenced inside aria-labelledby, which is not followed twice
 * @property {number} depth
 */

/** @type {(el: Element, id: string) => Element | null} */
const byId = (el, id) => {
  const root = getRootNode(el);
  return nodeType(root) === 9 ? documentById(root, id) : nodeType(root) === 11 ? fragmentById(root, id) : null;
};

/** Not rendered, or hidden on purpose. @type {(el: Element) => boolean} */
const isHidden = (el) => {
  if (attributeOf(el, "aria-hidden") === "true") return true;
  if (checkVisibility(el, { visibilityProperty: true })) return false;
  return styleOf(el).display !== "contents"; // which has no box of its own
};

/** 2B. @type {(el: Element, naming: Naming) => string} */
const nameByReference = (el, naming) => {
  const ids = attributeOf(el, "aria-labelledby");
  if (!ids || naming.referenced) return "";
  const parts = [];
  for (const id of ids.trim().split(/\s+/)) {
    const target = byId(el, id);
    if (!target) continue;
    const own = { seen: new Set([el]), hidden: isHidden(target), referenced: true, depth: naming.depth + 1 };
    if (target === el) own.seen.clear();
    parts.push(textAlternative(target, own));
  }
  return collapse(parts.join(" "));
};

/** The labels of a form control. @type {(el: Element) => Element[]} */
const labelsOf = (el) => {
  const labels = /** @type {HTMLInputElement} */ (el).labels;
  return labels && labels.length ? Array.from(labels) : [];
};

/** The text of a child element such as legend, caption or an SVG title. @type {(el: Element, child: string, naming: Naming) => string} */
const nameByChild = (el, child, naming) => {
  const found = queryOne(el, ":scope > " + child);
  if (found && child === "title") return roughText(found, MAX_NAME); // of SVG: never rendered
  return found && !naming.seen.has(found) ? textAlternative(found, { ...naming, depth: naming.depth + 1 }) : "";
};

/** 2E: what the host language says. @type {(el: Element, naming: Naming) => string} */
const nameByMarkup = (el, naming) => {
  switch (localName(el)) {
    case "input":
    case "select":
    case "textarea":
    case "button":
    case "meter":
    case "progress":
    case "output":
      return nameOfControl(el, naming);
    case "img":
    case "area":
      return attributeOf(el, "alt") || "";
    case "fieldset":
      return nameByChild(el, "legend", naming);
    case "table":
      return nameByChild(el, "caption", naming);
    case "figure":
      return nameByChild(el, "figcaption", naming);
    case "svg":
      return nameByChild(el, "title", naming);
    case "a":
      return namespaceURI(el) === HTML_NAMESPACE ? "" : nameByChild(el, "title", naming) || attributeOf(el, "xlink:title") || "";
  }
  return "";
};

/** @type {(el: Element, naming: Naming) => string} */
const nameOfControl = (el, naming) => {
  if (!naming.referenced || naming.depth === 0) {
    const parts = [];
    for (const label of labelsOf(el)) {
      if (naming.seen.has(label)) continue;
      parts.push(textAlternative(label, { seen: new Set([el]), hidden: isHidden(label), referenced: true, depth: naming.depth + 1 }));
    }
    const name = collapse(parts.join(" "));
    if (name) return name;
  }
  if (!isHTML(el, "input")) return "";
  const input = /** @type {HTMLInputElement} */ (el);
  if (BUTTON_TYPES.has(input.type)) {
    return input.value || (input.type === "submit" ? "Submit" : input.type === "reset" ? "Reset" : "");
  }
  if (input.type === "image") return attributeOf(el, "alt") || attributeOf(el, "value") || attributeOf(el, "title") || "Submit";
  return "";
};

/** 2C: a control inside of a label stands for its value. @type {(el: Element) => string | null} */
const valueInName = (el) => {
  switch (anyRole(el)) {
    case "textbox":
    case "searchbox":
      return isSecret(el) ? "" : fieldValue(el);
    case "combobox":
    case "listbox":
    case "slider":
    case "spinbutton":
      return fieldValue(el);
  }
  return null;
};

/** 2F, 2G: what is inside, blocks apart from their neighbours. @type {(el: Element, naming: Naming) => string} */
const nameByContent = (el, naming) => {
  if (naming.depth > MAX_NAME_DEPTH) return roughText(el, MAX_NAME);
  let out = "";
  for (const child of flatChildren(el)) {
    if (out.length > MAX_NAME * 8) break;
    if (nodeType(child) === 3) {
      out += textContent(child).slice(0, MAX_NAME * 8);
    } else if (nodeType(child) === 1) {
      const element = /** @type {Element} */ (child);
      if (UNSEEN.has(localName(element)) || naming.seen.has(element)) continue;
      if (localName(element) === "br") {
        out += " ";
        continue;
      }
      const part = textAlternative(element, { ...naming, depth: naming.depth + 1 });
      const display = part === "" ? "inline" : styleOf(element).display;
      out += display.startsWith("inline") || display === "contents" ? part : " " + part + " ";
    }
  }
  return out;
};

/** The text that an element stands for inside of another's name. @type {(el: Element, naming: Naming) => string} */
const textAlternative = (el, naming) => {
  if (naming.seen.has(el)) return "";
  if (!naming.hidden && isHidden(el)) return "";
  const referenced = nameByReference(el, naming);
  if (referenced) return referenced;
  naming.seen.add(el);
  if (naming.depth > 0) {
    const value = valueInName(el);
    if (value !== null) return value;
  }
  const label = labelOnly(el);
  if (label) return label;
  const markup = nameByMarkup(el, naming);
  if (collapse(markup)) return markup;
  const content = nameByContent(el, naming);
  if (collapse(content)) return content;
  return attributeOf(el, "title") || "";
};

/** 2D. @type {(el: Element) => string} */
const labelOnly = (el) => collapse(attributeOf(el, "aria-label") || "");

/** Text that a style sheet adds: the last resort for an icon font. @type {(el: Element) => string} */
const pseudoText = (el) => {
  let out = "";
  for (const part of ["::before", "::after"]) {
    const content = styleOf(el, part).content;
    if (content.startsWith('"')) out += content.slice(1, -1);
  }
  return out;
};

/** The name of a listed element. @type {(el: Element, role: string) => string} */
const nameOf = (el, role) => {
  /** @type {Naming} */
  const naming = { seen: new Set(), hidden: false, referenced: false, depth: 0 };
  return cut(collapse(rawName(el, role, naming)), MAX_NAME);
};

/** @type {(el: Element, role: string, naming: Naming) => string} */
const rawName = (el, role, naming) => {
  const early = nameByReference(el, naming) || labelOnly(el).slice(0, MAX_NAME * 8);
  if (early) return early;
  naming.seen.add(el);
  const markup = nameByMarkup(el, naming);
  if (collapse(markup)) return markup;
  if (NAMED_BY_CONTENT.has(role) && !isHTML(el, "input")) {
    const content = nameByContent(el, naming);
    if (collapse(content)) return content;
  }
  const tooltip = attributeOf(el, "title") || attributeOf(el, "placeholder") || attributeOf(el, "aria-placeholder") || "";
  if (collapse(tooltip.slice(0, MAX_NAME * 8))) return tooltip.slice(0, MAX_NAME * 8);
  return NAMED_BY_CONTENT.has(role) && !isHTML(el, "input") ? pseudoText(el) : "";
};
