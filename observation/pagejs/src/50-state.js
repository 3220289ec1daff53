// What an element is at the moment: values, states, visibility.

const MAX_VALUE = 200;

/** Types of input whose value the user does not see as text. */
const VALUELESS = new Set(["checkbox", "radio", "button", "submit", "reset", "image", "file", "password", "hidden"]);

/** @type {(option: HTMLOptionElement) => string} */
const optionLabel = (option) => collapse(attributeOf(option, "label") || textContent(option));

/** The value as the user sees it; "" for a secret. @type {(el: Element) => string} */
const fieldValue = (el) => {
  if (isSecret(el)) return "";
  if (isHTML(el, "select")) {
    const chosen = /** @type {HTMLSelectElement} */ (el).selectedOptions;
    return Array.from(chosen, optionLabel).join(", ");
  }
  if (isHTML(el, "input")) {
    const input = /** @type {HTMLInputElement} */ (el);
    return VALUELESS.has(input.type) ? "" : input.value;
  }
  if (isHTML(el, "textarea")) return /** @type {HTMLTextAreaElement} */ (el).value;
  const spoken = attributeOf(el, "aria-valuetext") || attributeOf(el, "aria-valuenow");
  if (spoken) return spoken;
  return isEditingHost(el) ? roughText(el, MAX_VALUE) : "";
};

/** @type {(el: Element) => boolean} */
const isDisabled = (el) => {
  if (matches(el, ":disabled")) return true;
  for (let n = /** @type {Element | null} */ (el); n; n = flatParent(n)) {
    if (attributeOf(n, "aria-disabled") === "true") return true;
  }
  return false;
};

/** @type {(el: Element) => boolean} */
const isReadonly = (el) =>
  ((isHTML(el, "input") || isHTML(el, "textarea")) && /** @type {HTMLInputElement} */ (el).readOnly) || attributeOf(el, "aria-readonly") === "true";

/** "true", "false", "mixed", or "" for what cannot be checked. @type {(el: Element, role: string) => string} */
const checkedState = (el, role) => {
  if (isHTML(el, "input")) {
    const input = /** @type {HTMLInputElement} */ (el);
    if (input.type === "checkbox" || input.type === "radio") {
      return input.type === "checkbox" && input.indeterminate ? "mixed" : String(input.checked);
    }
  }
  if (!["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option", "treeitem"].includes(role)) return "";
  const declared = attributeOf(el, "aria-checked");
  if (declared === "true" || declared === "mixed") return declared;
  return role === "option" || role === "treeitem" ? "" : "false";
};

/** The element that has the focus, through shadow roots. @type {() => Element | null} */
const deepActive = () => {
  let el = documentActive(document);
  for (let root = el && shadowRootOf(el); root; root = el && shadowRootOf(el)) {
    const inner = shadowActive(root);
    if (!inner) break;
    el = inner;
  }
  return el;
};

/** @type {(el: Element) => string} */
const disclosure = (el) => {
  if (isSummary(el)) return hasAttribute(parentNode(el), "open") ? "expanded" : "collapsed";
  const declared = attributeOf(el, "aria-expanded");
  return declared === "true" ? "expanded" : declared === "false" ? "collapsed" : "";
};

/** The states that hold, under the names of the protocol. @type {(el: Element, role: string, active: Element | null, box: DOMRect) => string[]} */
const statesOf = (el, role, active, box) => {
  const states = [];
  if (isDisabled(el)) states.push("disabled");
  const checked = checkedState(el, role);
  if (checked === "true") states.push("checked");
  if (checked === "mixed") states.push("mixed");
  if (attributeOf(el, "aria-selected") === "true") states.push("selected");
  const open = disclosure(el);
  if (open) states.push(open);
  if (attributeOf(el, "aria-pressed") === "true") states.push("pressed");
  if (/** @type {HTMLInputElement} */ (el).required === true || attributeOf(el, "aria-required") === "true") states.push("required");
  const invalid = attributeOf(el, "aria-invalid");
  if ((invalid !== null && invalid !== "false" && invalid !== "") || matches(el, ":user-invalid")) states.push("invalid");
  if (isReadonly(el)) states.push("readonly");
  if (el === active) states.push("focused");
  if (isOffscreen(box)) states.push("offscreen");
  return states;
};

/** @type {(box: DOMRect) => boolean} */
const isOffscreen = (box) => box.bottom <= 0 || box.right <= 0 || box.top >= innerHeight || box.left >= innerWidth;

/** The box of an element, or of its parts when it has none itself. @type {(el: Element) => DOMRect} */
const boxOf = (el) => {
  const box = rectOf(el);
  if (box.width > 0 && box.height > 0) return box;
  let tries = 20; // an inline link around a floating image, or display: contents
  /** @type {DOMRect | null} */
  let part = null;
  walkFlat(el, (inner) => {
    if (part || tries-- < 0) return true;
    const rect = rectOf(inner);
    if (rect.width > 0 && rect.height > 0 && checkVisibility(inner, { visibilityProperty: true })) part = rect;
    return false;
  });
  return part || box;
};

/** Whether a user could see it. @type {(el: Element) => boolean} */
const isVisible = (el) => {
  if (!checkVisibility(el, { visibilityProperty: true }) && styleOf(el).display !== "contents") return false;
  const box = boxOf(el);
  return box.width > 0 && box.height > 0;
};

/** The label that stands for a control which is not drawn. @type {(el: Element) => Element | null} */
const visibleLabel = (el) => {
  if (!isHTML(el, "input")) return null;
  for (const label of labelsOf(el)) if (isVisible(label)) return label;
  return null;
};

/** What a user would click for el: itself, or its label. @type {(el: Element) => Element | null} */
const surfaceOf = (el) => (isVisible(el) ? el : visibleLabel(el));
