// Fields: what may be written, writing it, and reading it back.

/** Types that are set through the value property: typing goes to their parts. */
const NATIVE_TYPES = new Set(["date", "time", "datetime-local", "month", "week", "range", "color"]);
const TEXT_TYPES = new Set(["text", "search", "email", "tel", "url", "password", "number"]);

const inputValue = setterOf(HTMLInputElement.prototype, "value");
const readInputValue = getterOf(HTMLInputElement.prototype, "value");
const readAreaValue = getterOf(HTMLTextAreaElement.prototype, "value");
const selectInput = uncurry(HTMLInputElement.prototype.select);
const selectArea = uncurry(HTMLTextAreaElement.prototype.select);

/** How a field is written: type, native or editable; "" when it is no field. @type {(el: Element) => string} */
const writingOf = (el) => {
  if (isHTML(el, "textarea")) return "type";
  if (isHTML(el, "input")) {
    const type = /** @type {HTMLInputElement} */ (el).type;
    return NATIVE_TYPES.has(type) ? "native" : TEXT_TYPES.has(type) ? "type" : "";
  }
  return el instanceof HTMLElement && contentEditableOf(el) ? "editable" : "";
};

/** Whether an input of this kind could hold the value. @type {(el: HTMLInputElement, value: string) => boolean} */
const accepts = (el, value) => {
  if (value === "") return !["range", "color"].includes(el.type);
  if (el.type === "color") return /^#[0-9a-f]{6}$/i.test(value);
  const probe = /** @type {HTMLInputElement} */ (createElement(document, "input"));
  probe.type = el.type;
  if (el.type === "range") {
    for (const limit of ["min", "max", "step"]) {
      const declared = attributeOf(el, limit);
      if (declared !== null) probe.setAttribute(limit, declared);
    }
    inputValue(probe, value);
    return value.trim() !== "" && Number(readInputValue(probe)) === Number(value);
  }
  inputValue(probe, value);
  return readInputValue(probe) !== "";
};

/** @type {(el: Element, args: PrepareArgs) => Verdict} */
const checkFill = (el, args) => {
  const type = inputTypeOf(el);
  if (type === "password" && args.kind === "fill") return refuse("password", "a password field is filled by fill_credential");
  if (type === "file") return refuse("not_editable", "a file field takes no text");
  const writing = writingOf(el);
  if (!writing) return refuse("not_editable", called(el) + " takes no text" + otherAction(el));
  if (isReadonly(el)) return refuse("not_editable", called(el) + " is read-only", true);
  if (args.kind === "fill" && (writing === "native" || type === "number")) {
    const value = args.value || "";
    if (!accepts(/** @type {HTMLInputElement} */ (el), value)) return refuse("bad_value", "a field of type " + type + " does not accept this value" + formatHint(type));
  }
  return { writing };
};

/** @type {(el: Element) => string} */
const otherAction = (el) => {
  if (isHTML(el, "select")) return "; use select";
  return checkedState(el, actionRole(el)) === "" ? "" : "; use check";
};

/** @type {(type: string) => string} */
const formatHint = (type) => {
  /** @type {Record<string, string>} */
  const formats = {
    date: "YYYY-MM-DD", time: "HH:MM", "datetime-local": "YYYY-MM-DDTHH:MM", month: "YYYY-MM", week: "YYYY-Www",
    color: "#rrggbb", number: "a number", range: "a number on its scale",
  };
  return formats[type] ? " (want " + formats[type] + ")" : "";
};

/** @type {(el: Element) => string} */
const rawValue = (el) => {
  if (isHTML(el, "input")) return readInputValue(el);
  if (isHTML(el, "textarea")) return readAreaValue(el);
  return el instanceof HTMLElement ? innerTextOf(el) : "";
};

/** @type {(el: Element) => void} */
const announce = (el) => {
  fire(el, new Event("input", { bubbles: true, composed: true }));
  fire(el, new Event("change", { bubbles: true }));
};

/** What the field held before, for telling whether it took anything. @type {WeakMap<Element, string>} */
const valueBefore = new WeakMap();

/**
 * Focuses the field and selects what is in it, so that inserted text replaces it.
 * An empty value is a deletion, which inserting cannot do.
 * @type {(args: {doc: string, id: number, empty: boolean, secret: boolean}) => string}
 */
const focusField = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  if (args.secret) secrets.add(el);
  valueBefore.set(el, rawValue(el));
  scrollIntoView(surfaceOf(el) || el, { block: "nearest", inline: "nearest", behavior: "instant" });
  focusOf(el, { preventScroll: true });
  if (isHTML(el, "input")) selectInput(el);
  else if (isHTML(el, "textarea")) selectArea(el);
  else {
    const selection = getSelection();
    const range = new Range();
    range.selectNodeContents(el);
    if (selection) {
      selection.removeAllRanges();
      selection.addRange(range);
    }
  }
  if (deepActive() !== el && !flatContains(el, deepActive())) return stringify(refuse("not_editable", called(el) + " does not take the focus"));
  if (args.empty) execCommand(document, "delete");
  return stringify({});
};

/** Sets a field that has no text of its own, with the events of a user. @type {(args: {doc: string, id: number, value: string}) => string} */
const setField = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  valueBefore.set(el, rawValue(el));
  focusOf(el, { preventScroll: true });
  inputValue(el, /** @type {HTMLInputElement} */ (el).type === "color" ? args.value.toLowerCase() : args.value);
  announce(el);
  return stringify({});
};

/**
 * What became of a fill. Of a secret only whether it is in, never the value.
 * @type {(args: {doc: string, id: number, value: string, secret: boolean}) => string}
 */
const readField = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  const value = rawValue(el);
  const unix = (/** @type {string} */ s) => s.replace(/\r\n?/g, "\n");
  const equal = unix(value).trimEnd() === unix(args.value).trimEnd() || value.toLowerCase() === args.value.toLowerCase();
  const kept = value === valueBefore.get(el) && !equal;
  const shortened = !equal && value !== "" && args.value.startsWith(value);
  valueBefore.delete(el);
  if (args.secret || isSecret(el)) return stringify({ equal: value === args.value, kept, shortened, empty: value === "" });
  return stringify({ equal, kept, shortened, empty: value === "", value: cut(value, MAX_VALUE) });
};
