// Identity: a number for each node that was ever listed, for the document's life.
//
// The table is the only identity: backend node ids cost 75 ms for 1,500 elements.
// A number never comes back for another node, and a node that went away and came
// back keeps its number. The document's token tells this document from any other
// that is loaded into the same frame, also when a frame re-uses its global.

/** @type {string} */
const documentToken = (() => {
  const random = new Uint32Array(3);
  crypto.getRandomValues(random);
  return Array.from(random, (n) => n.toString(36)).join("");
})();

/** @type {WeakMap<Node, number>} */
const idOfNode = new WeakMap();
/** @type {Map<number, WeakRef<Element>>} */
const nodeOfId = new Map();
let lastId = 0;

/** @type {(el: Element) => number} */
const identify = (el) => {
  let id = idOfNode.get(el);
  if (id === undefined) {
    id = ++lastId;
    idOfNode.set(el, id);
    nodeOfId.set(id, new WeakRef(el));
  }
  return id;
};

/** @type {(id: number) => Element | null} */
const nodeOf = (id) => {
  const ref = nodeOfId.get(id);
  const el = ref ? ref.deref() : undefined;
  if (ref && !el) nodeOfId.delete(id);
  return el || null;
};

/**
 * Fields whose value never leaves the page: passwords, also after the page has
 * turned them into text ("show password"), and what a credential was filled into.
 * @type {WeakSet<Element>}
 */
const secrets = new WeakSet();

/** @type {(el: Element) => boolean} */
const isSecret = (el) => {
  if (secrets.has(el)) return true;
  if (!isHTML(el, "input")) return false;
  const field = /** @type {HTMLInputElement} */ (el);
  const hint = (attributeOf(el, "autocomplete") || "").toLowerCase();
  const secret =
    field.type === "password" || /\b(current-password|new-password|one-time-code|cc-csc)\b/.test(hint) ||
    styleOf(el).getPropertyValue("-webkit-text-security") !== "none";
  if (secret) secrets.add(el);
  return secret;
};
