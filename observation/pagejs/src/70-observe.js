// The pass: everything that an observation shows, in one call.

/**
 * @typedef {object} ObserveArgs
 * @property {number} elements how many elements to return, at most
 * @property {number} maxTier elements of a higher tier are counted, not returned
 * @property {number} text how many characters of text to return
 * @property {number[]} [owners] elements that hold frames
 * @property {{doc: string, id: number}} [region] only what is in it
 * @property {string} [search] only elements whose name has it, in lower case
 * @property {string} [role] only elements of this role
 */

/**
 * @typedef {object} Candidate
 * @property {Element} el
 * @property {Element} surface what a user sees of it
 * @property {string} role
 * @property {number} order in the document
 * @property {number} tier
 * @property {string} section
 * @property {Element | null} record
 * @property {boolean} pagination
 * @property {string} by why it can be clicked though it has no role
 */

/** How long a pass may take, in ms, before it stops and says so. */
const PASS_LIMIT = 2000;
const MAX_HREF = 2048;
const MAX_SHOWN_HREF = 1024;
/** How much of the text counts for the digest, in UTF-16 units. */
const HASHED_TEXT = 60000;

/** Where every listed element was when it was last seen, in page coordinates. @type {Map<number, number[]>} */
const lastBox = new Map();

/** Open shadow roots of the newest pass: for texts, and for watching changes. @type {ShadowRoot[]} */
let knownRoots = [];

/** Where the pass begins: a modal dialog makes the rest of the page inert. @type {() => Element | null} */
const passRoot = () => {
  const modals = documentQueryAll(document, "dialog:modal");
  return modals.length ? modals[modals.length - 1] : documentElementOf(document);
};

/** Where the pass of a region begins: nowhere when a modal dialog, or inert, keeps users out. @type {(region: Element, surroundings: Surroundings) => Element[]} */
const regionRoots = (region, surroundings) => {
  const root = passRoot();
  if (!root || !flatContains(root, region)) return [];
  for (let n = flatParent(region); n; n = flatParent(n)) if (hasAttribute(n, "inert")) return [];
  return surroundings.halves(region);
};

/** Finds the candidates, and the order of the elements in places. @type {(start: Element[], surroundings: Surroundings, places: Map<Element, number>, clicks: Clickables) => {found: Candidate[], partial: boolean, roots: ShadowRoot[]}} */
const findCandidates = (start, surroundings, places, clicks) => {
  /** @type {Candidate[]} */
  const found = [];
  /** @type {ShadowRoot[]} */
  const roots = [];
  const limit = now() + PASS_LIMIT;
  let partial = false;
  let seen = 0;
  for (const root of start) {
    walkFlat(root, (el) => {
      if (partial || ((++seen & 255) === 0 && now() > limit)) return (partial = true);
      if (UNSEEN.has(localName(el)) || hasAttribute(el, "inert")) return true;
      if (places.has(el)) places.set(el, seen);
      const shadow = shadowRootOf(el);
      if (shadow) roots.push(shadow);
      const role = actionRole(el);
      const by = clicks.reason(el, role);
      if (by !== "" || (role !== "" && role !== CLICKABLE)) {
        const surface = surfaceOf(el);
        if (surface) found.push(place(el, surface, role || CLICKABLE, by, seen, surroundings));
      }
      return localName(el) === "select";
    });
  }
  return { found: clicks.sift(found), partial, roots };
};

/** Those that are asked for; a name costs, so it is asked last. @type {(found: Candidate[], args: ObserveArgs) => Candidate[]} */
const wantedOf = (found, args) => {
  if (args.role) found = found.filter((c) => c.role === args.role);
  const search = args.search;
  return search ? found.filter((c) => collapse(nameOf(c.el, c.role)).toLowerCase().includes(search)) : found;
};

/** @type {(el: Element, surface: Element, role: string, by: string, order: number, surroundings: Surroundings) => Candidate} */
const place = (el, surface, role, by, order, surroundings) => {
  const section = surroundings.section(el);
  const record = surroundings.record(el);
  const pagination = surroundings.pages(el, role);
  const isTitle = record !== null && FIRST_TIER_ROLES.has(role) === false && surroundings.title(record).title === el;
  return { el, surface, role, by, order, section, record, pagination, tier: tierOf(role, section, pagination, record !== null, isTitle) };
};

/** @type {(el: Element) => string} */
const hrefOf = (el) => {
  const declared = attributeOf(el, "href") ?? attributeOf(el, "xlink:href");
  if (declared === null || declared.length > 65536) return "";
  try {
    return new URL(declared.trim(), el.baseURI).href.slice(0, MAX_HREF);
  } catch {
    return declared.slice(0, MAX_HREF);
  }
};

/** @type {(el: Element) => string} */
const inputTypeOf = (el) => (isHTML(el, "input") ? /** @type {HTMLInputElement} */ (el).type : "");

/** Code and data in a link are no addresses: only what they are is shown. @type {(href: string) => string} */
const shownHref = (href) => (/^(javascript|data|blob):/i.test(href) && href.length > 60 ? href.slice(0, 60) + "…" : href.slice(0, MAX_SHOWN_HREF));

/**
 * What must not have changed between showing an element and acting on it.
 * @type {(el: Element, role: string, name: string, record: Element | null, label: string) => string}
 */
const fingerprint = (el, role, name, record, label) =>
  hash(stringify([localName(el), role, inputTypeOf(el), name, role === "link" ? hrefOf(el) : "", record ? identify(record) : 0, label]));

/** @type {(c: Candidate, active: Element | null, surroundings: Surroundings) => object} */
const describe = (c, active, surroundings) => {
  const id = identify(c.el);
  const name = nameOf(c.el, c.role);
  const box = boxOf(c.surface);
  const label = c.record ? surroundings.title(c.record).label : "";
  const value = c.role === "button" ? "" : cut(fieldValue(c.el), MAX_VALUE);
  lastBox.set(id, pageBox(box));
  if (c.by) clickables.add(c.el);
  return {
    id, role: c.role, name, by: c.by || undefined,
    type: inputTypeOf(c.el) || undefined,
    value: value || undefined,
    href: (c.role === "link" && shownHref(hrefOf(c.el))) || undefined,
    states: statesOf(c.el, c.role, active, box),
    section: c.record ? "record" : c.section || undefined,
    tier: c.tier, order: c.order,
    pagination: c.pagination || undefined,
    group: c.record ? identify(c.record) : undefined,
    print: fingerprint(c.el, c.role, name, c.record, label),
  };
};

/** @type {(box: DOMRect) => number[]} */
const pageBox = (box) => [box.left + scrollX, box.top + scrollY, box.width, box.height].map(Math.round);

/** The text as a user sees it, shadow roots at the end. @type {(parts: Element[], roots: ShadowRoot[]) => string} */
const textOf = (parts, roots) => {
  let text = parts.map((el) => (el instanceof HTMLElement ? innerTextOf(el) : roughText(el, HASHED_TEXT))).join("\n");
  for (const root of roots) {
    for (const child of root.children) {
      if (child instanceof HTMLElement && !UNSEEN.has(localName(child))) {
        const part = innerTextOf(child);
        if (part.trim()) text += "\n" + part;
      }
    }
  }
  return text.trim();
};

/** The page's text. @type {() => string} */
const pageText = () => {
  const body = bodyOf(document) || documentElementOf(document);
  return textOf(body ? [body] : [], knownRoots);
};

/** Observes the page, or a region of it. @type {(args: ObserveArgs) => string} */
const observe = (args) => {
  const surroundings = new Surroundings();
  const region = args.region ? lookUp(args.region) : null;
  if (region && !(region instanceof Element)) return stringify(region);
  const owners = args.owners || [];
  const places = placesOf(owners);
  const top = passRoot();
  const start = region ? regionRoots(region, surroundings) : top ? [top] : [];
  const { found, partial, roots } = findCandidates(start, surroundings, places, new Clickables());
  if (!region) knownRoots = roots;
  const wanted = wantedOf(found, args);
  const shown = wanted.filter((c) => c.tier <= args.maxTier).sort((a, b) => a.tier - b.tier || a.order - b.order);
  shown.length = Math.min(shown.length, args.elements);
  const active = deepActive();
  const text = region ? textOf(surroundings.halves(region), roots) : pageText();
  /** @type {Map<number, string>} */
  const groups = new Map();
  if (!region) lastBox.clear();
  const elements = shown.map((c) => {
    if (c.record) groups.set(identify(c.record), surroundings.title(c.record).label);
    return describe(c, active, surroundings);
  });
  const title = cut(collapse(titleOf(document).slice(0, 4000)), 500);
  return stringify({
    doc: documentToken,
    url: location.href.slice(0, MAX_HREF * 4),
    title,
    text: cut(text, args.text),
    total_text: codePoints(text),
    text_hash: hash(text.slice(0, HASHED_TEXT)),
    elements,
    total: wanted.length,
    partial,
    frames: heldFrames(owners, places),
    groups: Array.from(groups, ([id, label]) => ({ id, label })),
  });
};
