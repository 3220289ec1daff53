// Choices: options of a select, checkboxes, radios and switches.

const MAX_OFFERED = 10;

/** @type {(option: HTMLOptionElement) => boolean} */
const optionDisabled = (option) => option.disabled || closest(option, "optgroup:disabled") !== null;

/** The option that a value or label names. @type {(options: HTMLOptionElement[], wanted: string) => HTMLOptionElement | Verdict} */
const findOption = (options, wanted) => {
  const label = collapse(wanted);
  const byLabel = options.filter((o) => optionLabel(o) === label);
  if (byLabel.length === 1) return byLabel[0];
  if (byLabel.length > 1) {
    return refuse("ambiguous_option", byLabel.length + " options are called " + stringify(label) + "; their values are " + byLabel.slice(0, MAX_OFFERED).map((o) => stringify(cut(o.value, 60))).join(", "));
  }
  const byValue = options.filter((o) => o.value === wanted);
  if (byValue.length === 1) return byValue[0];
  if (byValue.length > 1) return refuse("ambiguous_option", byValue.length + " options have the value " + stringify(cut(wanted, 60)));
  return refuse("option_not_found", "no option " + stringify(cut(label, 60)) + "; there are " + nearOptions(options, label));
};

/** Options to offer instead: those that share a word first. @type {(options: HTMLOptionElement[], label: string) => string} */
const nearOptions = (options, label) => {
  const words = label.toLowerCase().split(" ");
  const score = (/** @type {HTMLOptionElement} */ o) => words.filter((w) => w && optionLabel(o).toLowerCase().includes(w)).length;
  const near = options.slice(0, 500).map((o, i) => ({ o, i, s: score(o) })).sort((a, b) => b.s - a.s || a.i - b.i);
  const more = options.length > MAX_OFFERED ? " and " + (options.length - MAX_OFFERED) + " more" : "";
  return near.slice(0, MAX_OFFERED).map(({ o }) => stringify(cut(optionLabel(o), 60))).join(", ") + more;
};

/** @type {(el: Element, values: string[]) => HTMLOptionElement[] | Verdict} */
const chosenOptions = (el, values) => {
  const select = /** @type {HTMLSelectElement} */ (el);
  if (values.length > 1 && !select.multiple) return refuse("bad_argument", called(el) + " takes one option only");
  const options = Array.from(select.options);
  const chosen = [];
  for (const value of values) {
    const option = findOption(options, value);
    if (!(option instanceof HTMLOptionElement)) return option;
    if (optionDisabled(option)) return refuse("option_disabled", "the option " + stringify(cut(optionLabel(option), 60)) + " is disabled");
    chosen.push(option);
  }
  return chosen;
};

/** @type {(el: Element, args: PrepareArgs) => Verdict} */
const checkSelect = (el, args) => {
  if (!isHTML(el, "select")) return refuse("bad_argument", called(el) + " is no native select; click it and choose from what opens");
  const chosen = chosenOptions(el, args.values || []);
  return Array.isArray(chosen) ? {} : chosen;
};

/** Chooses exactly these options. @type {(args: {doc: string, id: number, values: string[]}) => string} */
const choose = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  const chosen = chosenOptions(el, args.values);
  if (!Array.isArray(chosen)) return stringify(chosen);
  const select = /** @type {HTMLSelectElement} */ (el);
  const before = stringify(Array.from(select.selectedOptions, (o) => o.index));
  focusOf(select, { preventScroll: true });
  if (select.multiple) for (const option of select.options) option.selected = chosen.includes(option);
  else chosen[0].selected = true;
  const changed = before !== stringify(Array.from(select.selectedOptions, (o) => o.index));
  if (changed) announce(select);
  const kept = chosen.every((o) => o.selected);
  return stringify({ changed, kept, value: cut(fieldValue(select), MAX_VALUE) });
};

/** @type {(el: Element, args: PrepareArgs) => Verdict} */
const checkToggle = (el, args) => {
  const role = actionRole(el);
  const state = checkedState(el, role);
  if (state === "") return refuse("not_toggleable", called(el) + " is no checkbox, radio or switch");
  const isRadio = role === "radio" || role === "menuitemradio" || inputTypeOf(el) === "radio";
  if (isRadio && !args.checked && state === "true") return refuse("not_toggleable", "a radio button is unchecked by checking another");
  return state === String(args.checked) ? { done: true } : {};
};

/** @type {(args: {doc: string, id: number}) => string} */
const readChecked = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  return stringify({ checked: checkedState(el, actionRole(el)) });
};

/** What an action asks of its element beyond being there. @type {Record<string, (el: Element, args: PrepareArgs) => Verdict>} */
const CHECKS = {
  fill: checkFill, secret: checkFill, select: checkSelect, check: checkToggle, type: (el) => checkTyping(el) || {},
  click: (el) => (inputTypeOf(el) === "file" ? refuse("file_input", "clicking a file field opens a file chooser, which nobody could answer") : {}),
};

/** Focuses an element for a key. @type {(args: {doc: string, id: number}) => string} */
const focusElement = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  if (el instanceof HTMLElement || el instanceof SVGElement) focusOf(el);
  return stringify({ focused: deepActive() === el });
};
