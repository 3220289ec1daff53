// Typing: key by key, where the caret is. The keys come from outside; here is who
// gets them, and what became of them.

const selectRange = uncurry(HTMLInputElement.prototype.setSelectionRange);
const selectAreaRange = uncurry(HTMLTextAreaElement.prototype.setSelectionRange);

/** Fields that would keep, or hide, what is typed. @type {(el: Element) => Verdict | null} */
const checkTyping = (el) => {
  const type = inputTypeOf(el);
  if (type === "password") return refuse("password", "a password field is filled by fill_credential");
  if (type === "file") return refuse("not_editable", "a file field takes no text");
  if (NATIVE_TYPES.has(type)) return refuse("not_editable", "a field of type " + type + " is set by fill");
  if (isReadonly(el)) return refuse("not_editable", called(el) + " is read-only", true);
  return null;
};

/** The caret behind what is there. @type {(el: Element) => void} */
const caretToEnd = (el) => {
  try {
    const end = rawValue(el).length;
    if (isHTML(el, "input")) selectRange(el, end, end);
    else if (isHTML(el, "textarea")) selectAreaRange(el, end, end);
    else if (el instanceof HTMLElement && contentEditableOf(el)) {
      const selection = getSelection();
      if (!selection) return;
      selection.selectAllChildren(el);
      selection.collapseToEnd();
    }
  } catch { // a field of numbers tells no place of its caret, and takes none
    const selection = getSelection();
    if (selection) selection.modify("move", "forward", "lineboundary");
  }
};

/** Gives an element the keys; one that has them keeps its caret. @type {(args: {doc: string, id: number}) => string} */
const focusTyping = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  scrollIntoView(surfaceOf(el) || el, { block: "nearest", inline: "nearest", behavior: "instant" });
  valueBefore.set(el, rawValue(el));
  if (deepActive() !== el) {
    if (el instanceof HTMLElement || el instanceof SVGElement) focusOf(el, { preventScroll: true });
    caretToEnd(el);
  }
  const active = deepActive();
  if (active !== el && !(active && flatContains(el, active))) return stringify(refuse("not_editable", called(el) + " does not take the focus, so keys would go elsewhere"));
  const other = active && active !== el ? checkTyping(active) : null;
  return stringify(other || {});
};

/** What has the focus, for keys that name nothing. @type {() => string} */
const focusedElement = () => {
  const el = deepActive();
  if (!el || el === bodyOf(document) || el === documentElementOf(document)) return stringify(refuse("not_editable", "nothing has the focus; name an element"));
  if (ELSEWHERE.has(localName(el))) return stringify(refuse("not_editable", "the focus is in a frame; name an element of it"));
  const refused = checkTyping(el);
  if (refused) return stringify({ ...refused, retry: undefined });
  valueBefore.set(el, rawValue(el));
  watchChanges();
  return stringify({ doc: documentToken, id: identify(el), mark: changes });
};

/** What became of a text that was typed. Of a secret nothing. @type {(args: {doc: string, id: number, text: string}) => string} */
const readTyped = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  if (isSecret(el) || !writingOf(el)) return stringify({});
  const before = valueBefore.get(el) || "";
  valueBefore.delete(el);
  const value = rawValue(el);
  const most = isHTML(el, "input") || isHTML(el, "textarea") ? /** @type {HTMLInputElement} */ (el).maxLength : -1;
  const whole = before + args.text;
  const shortened = most >= 0 && whole.length > most && value === whole.slice(0, most) && value !== before;
  return stringify({ kept: value === before, shortened, value: cut(value, MAX_VALUE) });
};
