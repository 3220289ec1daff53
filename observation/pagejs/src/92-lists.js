// Extraction of lists: items in their order, nested ones below their parents.

const LISTS = "ul,ol,dl,menu,[role=list]";
const ITEM_TAGS = new Set(["li", "article", "section"]);
const ITEM_ROLES = new Set(["listitem", "article"]);
const MAX_ITEMS = 50000;
const MAX_LEVEL = 100;

/** @type {(el: Element) => boolean} */
const isList = (el) => matches(el, LISTS);

/** Children that are records though nothing says so: at least three of one tag and class. @type {(el: Element) => Element[]} */
const likeChildren = (el) => {
  /** @type {Map<string, Element[]>} */
  const alike = new Map();
  for (let c = firstElementChild(el); c; c = nextElementSibling(c)) {
    const name = (attributeOf(c, "class") || "").trim().split(/\s+/)[0];
    if (!name || UNSEEN.has(localName(c))) continue;
    const key = localName(c) + "." + name;
    const same = alike.get(key) || [];
    same.push(c);
    alike.set(key, same);
  }
  let most = /** @type {Element[]} */ ([]);
  for (const same of alike.values()) if (same.length > most.length) most = same;
  return most.length >= 3 ? most : [];
};

/** The items that are a list's own. Of a dl, its terms. @type {(list: Element) => Element[]} */
const itemsOf = (list) => {
  /** @type {Element[]} */
  const own = [];
  const terms = localName(list) === "dl";
  /** @type {(parent: Element) => void} */
  const collect = (parent) => {
    for (let c = firstElementChild(parent); c && own.length < MAX_ITEMS; c = nextElementSibling(c)) {
      const tag = localName(c);
      if (terms && tag === "div") collect(c); // a dl may group its terms
      else if (terms ? tag === "dt" : ITEM_TAGS.has(tag) || ITEM_ROLES.has(explicitRole(c))) own.push(c);
      else if (tag === "slot" || explicitRole(c) === "none" || explicitRole(c) === "presentation") collect(c);
    }
  };
  collect(list);
  return own.length || isList(list) ? own : likeChildren(list);
};

/** @type {(el: Element) => boolean} */
const isRecords = (el) => isVisible(el) && (isList(el) ? itemsOf(el).length > 0 : itemsOf(el).length >= 3);

/** The outermost lists in root; where there are none, other containers of records. @type {(root: Element) => Element[]} */
const listsIn = (root) => {
  for (const accept of [isList, (/** @type {Element} */ el) => !isList(el)]) {
    /** @type {Element[]} */
    const found = [];
    walkFlat(root, (el) => {
      if (UNSEEN.has(localName(el))) return true;
      if (found.length >= MAX_ITEMS || !accept(el) || !isRecords(el)) return false;
      found.push(el);
      return true;
    });
    if (found.length) return found;
  }
  return [];
};

/** The lists that a region means: itself, those inside of it, or the nearest around it. @type {(region: Element | null) => Element[]} */
const listsOf = (region) => {
  const root = region || bodyOf(document) || documentElementOf(document);
  if (!root) return [];
  const inside = listsIn(root);
  if (!region || inside.length) return inside;
  for (let n = flatParent(region); n; n = flatParent(n)) if (isRecords(n)) return [n];
  return [];
};

/** The list with the most text that is content, not navigation or margin. @type {(lists: Element[]) => number} */
const mainList = (lists) => {
  const surroundings = new Surroundings();
  let best = 0;
  let most = -1;
  lists.forEach((list, i) => {
    const margin = ["navigation", "banner", "contentinfo", "complementary"].includes(surroundings.section(list));
    const weight = roughText(list, 2000).length / (margin ? 1000 : 1);
    if (weight > most) [best, most] = [i, weight];
  });
  return best;
};

/** Numbers of ordered items, as start, value and reversed say. @type {(list: Element, items: Element[]) => string[]} */
const markersOf = (list, items) => {
  if (!isHTML(list, "ol")) return items.map(() => "");
  const reversed = hasAttribute(list, "reversed");
  const start = parseInt(attributeOf(list, "start") || "", 10);
  let n = Number.isNaN(start) ? (reversed ? items.length : 1) : start;
  return items.map((item) => {
    const value = parseInt(attributeOf(item, "value") || "", 10);
    if (!Number.isNaN(value)) n = value;
    const marker = String(n);
    n += reversed ? -1 : 1;
    return marker;
  });
};

/** The parts of an item, without lists inside of it. @type {(item: Element) => string} */
const itemText = (item) => {
  if (!queryOne(item, LISTS)) return lineOf(item);
  let out = "";
  const stack = [/** @type {Node} */ (item)];
  for (let n = stack.pop(); n; n = stack.pop()) {
    if (nodeType(n) === 3) out += textContent(n);
    if (nodeType(n) !== 1) continue;
    const el = /** @type {Element} */ (n);
    if (el !== item && (UNSEEN.has(localName(el)) || isList(el) || !checkVisibility(el, { visibilityProperty: true }))) continue;
    const display = styleOf(el).display;
    if (!display.startsWith("inline")) out += " ";
    const children = flatChildren(el);
    for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
  }
  return collapse(out);
};

/** An item's definitions, of a dl. @type {(term: Element) => Element[]} */
const definitionsOf = (term) => {
  const own = [];
  for (let n = nextElementSibling(term); n && localName(n) === "dd"; n = nextElementSibling(n)) own.push(n);
  return own;
};

/** Title, URL and text of an item. @type {(item: Element) => string[]} */
const itemValues = (item) => {
  const halves = localName(item) === "dt" ? [item, ...definitionsOf(item)] : [item];
  /** @type {(selector: string) => Element | null} */
  const first = (selector) => {
    for (const half of halves) {
      for (const el of queryAll(half, selector)) {
        const list = closest(el, LISTS);
        if (!list || !contains(half, list)) return el;
      }
    }
    return null;
  };
  const link = within(item, "a[href]") === item ? item : first("a[href]");
  const url = link ? hrefOf(link) : "";
  if (localName(item) === "dt") return [lineOf(item), url, halves.slice(1).map(itemText).join("; ")];
  const named = first("h1,h2,h3,h4,h5,h6,[role=heading]") || link;
  return [named ? cut(lineOf(named), 300) : "", url, itemText(item)];
};

/** @typedef {{item: Element, level: number, marker: string}} Place */

/** All items, parents before their children. @type {(list: Element) => Place[]} */
const placesIn = (list) => {
  /** @type {Place[]} */
  const places = [];
  /** @type {(list: Element, level: number) => void} */
  const add = (parent, level) => {
    const items = itemsOf(parent);
    const markers = markersOf(parent, items);
    items.forEach((item, i) => {
      if (places.length >= MAX_ITEMS || (!isVisible(item) && localName(item) !== "dt")) return;
      places.push({ item, level, marker: markers[i] });
      if (level >= MAX_LEVEL) return;
      for (const half of [item, ...(localName(item) === "dt" ? definitionsOf(item) : [])]) {
        if (queryOne(half, LISTS)) for (const inner of listsIn(half)) if (inner !== half && isList(inner)) add(inner, level + 1);
      }
    });
  };
  add(list, 1);
  return places;
};

/** @type {(args: ExtractArgs) => string} */
const extractList = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const lists = listsOf(region);
  const { chosen, more } = chooseOne(args, lists, mainList(lists), (l) => itemsOf(l).length);
  const list = lists[chosen];
  if (!list) {
    const why = lists.length ? "no list " + chosen + ": there are " + lists.length + ", from index 0" : region ? "there is no list at " + called(region) : "the page has no list";
    return stringify(refuse("no_list", why));
  }
  const places = placesIn(list);
  const idle = [];
  if (places.every((p) => p.level === 1)) idle.push("level");
  if (places.every((p) => p.marker === "")) idle.push("marker");
  const rows = places.slice(args.offset, args.offset + args.limit).map((p) => [...itemValues(p.item), String(p.level), p.marker]);
  return answerRows(args, ["title", "url", "text", "level", "marker"], rows, places.length, { ...more, idle });
};
