// The flat tree: what is rendered, through open shadow roots and slots.
//
// Everything here is iterative: a page 1,500 levels deep must not end the pass.

/** @type {(node: Node) => Element | null} */
const flatParent = (node) => {
  const slot = nodeType(node) === 1 ? assignedSlot(node) : nodeType(node) === 3 ? textAssignedSlot(node) : null;
  const parent = slot || parentNode(node);
  if (!parent) return null;
  return nodeType(parent) === 11 ? parent.host || null : nodeType(parent) === 1 ? parent : null;
};

/** Whether node is root or below it in the flat tree. @type {(root: Element, node: Node | null) => boolean} */
const flatContains = (root, node) => {
  for (let n = node; n; n = flatParent(n)) if (n === root) return true;
  return false;
};

/** @type {(parent: any) => Element | null} */
const firstChildElement = (parent) => (nodeType(parent) === 1 ? firstElementChild(parent) : parent.firstElementChild);

/** Pushes the element children, last first. @type {(el: Element, stack: Element[]) => void} */
const pushChildren = (el, stack) => {
  if (isHTML(el, "slot")) {
    const assigned = assignedElements(el);
    if (assigned.length > 0) {
      for (let i = assigned.length - 1; i >= 0; i--) stack.push(assigned[i]);
      return;
    }
  }
  const root = shadowRootOf(el);
  const children = root ? root.children : null;
  if (children) {
    for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
    return;
  }
  for (let c = lastElementChild(el); c; c = previousElementSibling(c)) stack.push(c);
};

/** Calls visit for each element in flat order; true skips what is below. @type {(root: Element, visit: (el: Element) => boolean) => void} */
const walkFlat = (root, visit) => {
  const stack = [root];
  for (let el = stack.pop(); el; el = stack.pop()) {
    if (!visit(el)) pushChildren(el, stack);
  }
};

/** The child nodes in the flat tree. @type {(el: Element) => Node[]} */
const flatChildren = (el) => {
  if (isHTML(el, "slot")) {
    const assigned = assignedNodes(el);
    if (assigned.length > 0) return assigned;
  }
  const children = [];
  for (let c = firstChild(shadowRootOf(el) || el); c; c = nextSibling(c)) children.push(c);
  return children;
};

const UNSEEN = new Set(["script", "style", "template", "noscript", "head", "meta", "link"]);

/**
 * The text below a node, collapsed, as far as limit: cheap, and without styles.
 * Elements that skip names are left out with what is below them.
 * @type {(root: Node, limit: number, skip?: (el: Element) => boolean) => string}
 */
const roughText = (root, limit, skip) => {
  let out = "";
  const stack = [root];
  for (let n = stack.pop(); n && out.length < limit * 2; n = stack.pop()) {
    if (nodeType(n) === 3) {
      out += textContent(n).slice(0, limit * 2) + " ";
    } else if (nodeType(n) === 1 && !UNSEEN.has(localName(n)) && !(skip && skip(/** @type {Element} */ (n)))) {
      const children = flatChildren(/** @type {Element} */ (n));
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
    }
  }
  return cut(collapse(out), limit);
};

/** @type {(s: string) => string} */
const collapse = (s) => s.replace(/[\s\u00a0]+/g, " ").trim();

/** Cuts at code points, never inside a surrogate pair. @type {(s: string, limit: number) => string} */
const cut = (s, limit) => {
  if (s.length <= limit) return s;
  let end = 0;
  for (let n = 0; n < limit && end < s.length; n++) end += /** @type {number} */ (s.codePointAt(end)) > 0xffff ? 2 : 1;
  return s.slice(0, end);
};

/** Code points of s. @type {(s: string) => number} */
const codePoints = (s) => {
  let pairs = 0;
  for (let i = 0; i + 1 < s.length; i++) {
    const unit = s.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const low = s.charCodeAt(i + 1);
      if (low >= 0xdc00 && low < 0xe000) {
        pairs++;
        i++;
      }
    }
  }
  return s.length - pairs;
};

/** A 53-bit hash, in base 36: for telling apart, not for safety. @type {(s: string) => string} */
const hash = (s) => {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < s.length; i++) {
    const unit = s.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
};
