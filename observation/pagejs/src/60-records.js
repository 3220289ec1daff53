// Where an element stands: landmark, record, pagination run, tier.

const MAX_LABEL = 160;

/** @type {Record<string, string>} */
const LANDMARK_TAGS = {
  nav: "navigation", form: "form", header: "banner", footer: "contentinfo", aside: "complementary", main: "main",
  search: "search",
};
const LANDMARK_ROLES = new Set(["search", "navigation", "form", "banner", "contentinfo", "complementary", "main"]);
const RECORD_TAGS = new Set(["li", "article", "tr", "dt", "dd", "section"]);
const RECORD_ROLES = new Set(["listitem", "article", "row"]);

const PAGE_LABEL =
  /^(?:\d+|\d+\s*[-–—]\s*\d+|next|previous|prev|more|all|first|last|older|newer|[»«›‹→←]|下一[页頁]|上一[页頁]|更多|全部|首[页頁]|末[页頁])$/iu;

/** @type {(el: Element) => string} */
const landmarkOf = (el) => {
  const role = explicitRole(el);
  if (LANDMARK_ROLES.has(role)) return role;
  return role === "" && namespaceURI(el) === HTML_NAMESPACE ? LANDMARK_TAGS[localName(el)] || "" : "";
};

/** What one pass remembers about ancestors, so that each is looked at once. */
class Surroundings {
  constructor() {
    /** @type {Map<Element, string>} */
    this.sections = new Map();
    /** @type {Map<Element, Element | null>} */
    this.records = new Map();
    /** @type {Map<ParentNode, Map<string, number>>} */
    this.siblings = new Map();
    /** @type {Map<Element, {label: string, title: Element | null}>} */
    this.titles = new Map();
    /** @type {Map<Element, number>} */
    this.runs = new Map();
  }

  /** The landmark around el, or "". @param {Element} el @returns {string} */
  section(el) {
    return this.inherit(el, this.sections, landmarkOf, "");
  }

  /** The record that el is in; of a term with its definitions, the term. @param {Element} el @returns {Element | null} */
  record(el) {
    return this.inherit(el, this.records, (n) => this.recordAt(n), null);
  }

  /**
   * Walks up until found is not empty, and remembers the answer for all on the way.
   * @template T @param {Element} el @param {Map<Element, T>} memo @param {(el: Element) => T} found @param {T} none
   * @returns {T}
   */
  inherit(el, memo, found, none) {
    const path = [];
    let answer = none;
    for (let n = /** @type {Element | null} */ (el); n; n = flatParent(n)) {
      const known = memo.get(n);
      if (known !== undefined) {
        answer = known;
        break;
      }
      path.push(n);
      const here = found(n);
      if (here) {
        answer = here;
        break;
      }
    }
    for (const n of path) memo.set(n, answer);
    return answer;
  }

  /** @param {Element} el @returns {Element | null} */
  recordAt(el) {
    const tag = localName(el);
    if (!RECORD_TAGS.has(tag) && !RECORD_ROLES.has(explicitRole(el))) return null;
    const parent = parentNode(el);
    if (!parent || this.count(parent, tag) < 3) return null;
    if (tag !== "dd") return el;
    for (let p = previousElementSibling(el); p; p = previousElementSibling(p)) if (localName(p) === "dt") return p;
    return el;
  }

  /** Children of one name. @param {ParentNode} parent @param {string} tag @returns {number} */
  count(parent, tag) {
    let counts = this.siblings.get(parent);
    if (!counts) {
      counts = new Map();
      for (let child = firstChildElement(parent); child; child = nextElementSibling(child)) counts.set(localName(child), (counts.get(localName(child)) || 0) + 1);
      this.siblings.set(parent, counts);
    }
    return counts.get(tag) || 0;
  }

  /** The elements of a record: a term comes with its definitions. @param {Element} record @returns {Element[]} */
  halves(record) {
    const parts = [record];
    if (localName(record) !== "dt") return parts;
    for (let n = nextElementSibling(record); n && localName(n) === "dd"; n = nextElementSibling(n)) parts.push(n);
    return parts;
  }

  /** What a record is called, and its main link. @param {Element} record */
  title(record) {
    let known = this.titles.get(record);
    if (!known) {
      known = titleOfRecord(this.halves(record), this);
      this.titles.set(record, known);
    }
    return known;
  }

  /** Whether el pages through results: rel says so, or its label in a run of such. @param {Element} el @param {string} role */
  pages(el, role) {
    if (role !== "link" && role !== "button") return false;
    if (/\b(next|prev)\b/i.test(attributeOf(el, "rel") || "")) return true;
    if (!isPageLabel(el)) return false;
    const parent = parentNode(el);
    if (!parent || nodeType(parent) !== 1) return false;
    if (this.run(parent) >= 2) return true;
    const outer = parentNode(parent); // <li><a>2</a></li>
    return localName(parent) === "li" && outer !== null && nodeType(outer) === 1 && this.run(outer) >= 2;
  }

  /** How many page labels are below el. @param {Element} el */
  run(el) {
    let n = this.runs.get(el);
    if (n === undefined) {
      n = 0;
      for (const other of queryAll(el, "a[href],button")) if (isPageLabel(other)) n++;
      this.runs.set(el, n);
    }
    return n;
  }
}

/** @type {(el: Element) => boolean} */
const isPageLabel = (el) => {
  const label = labelOnly(el) || roughText(el, 25);
  return label.length > 0 && label.length <= 24 && PAGE_LABEL.test(label);
};

/**
 * The longest link of a record that is more than a mention in prose. What belongs
 * to a record inside of it (nested lists) does not count: it would name each
 * level of a table of contents, and be read again for each.
 * @type {(halves: Element[], surroundings: Surroundings) => Element | null}
 */
const mainLink = (halves, surroundings) => {
  /** @type {Element | null} */
  let longest = null;
  let length = 0;
  let all = 0;
  for (const half of halves) {
    all += ownText(half, 600, surroundings).length;
    for (const link of queryAll(half, "a[href],[role=link]")) {
      if (surroundings.record(link) !== halves[0]) continue;
      const text = roughText(link, MAX_LABEL);
      if (text.length > length) [longest, length] = [link, text.length];
    }
  }
  return length * 6 >= all ? longest : null;
};

/** The text of a record without that of records inside of it. @type {(half: Element, limit: number, surroundings: Surroundings) => string} */
const ownText = (half, limit, surroundings) => roughText(half, limit, (el) => el !== half && surroundings.recordAt(el) !== null);

/**
 * The heading names a record; without one an element of class title, a term,
 * its main link (the longest: a vote arrow comes first on many pages), its text.
 * @type {(halves: Element[], surroundings: Surroundings) => {label: string, title: Element | null}}
 */
const titleOfRecord = (halves, surroundings) => {
  const main = mainLink(halves, surroundings);
  const term = localName(halves[0]) === "dt" ? halves[0] : null;
  for (const selector of ["h1,h2,h3,h4,h5,h6,[role=heading]", '.title,[class*="title" i]']) {
    for (const half of halves) {
      const named = queryOne(half, selector);
      const label = named ? roughText(named, MAX_LABEL) : "";
      if (!named || !label) continue;
      const own = queryOne(named, "a[href],[role=link]") || closest(named, "a[href],[role=link]");
      return { label, title: own || (term && queryOne(term, "a[href]")) || main };
    }
  }
  if (term) return { label: roughText(term, MAX_LABEL), title: queryOne(term, "a[href]") || main };
  const label = main ? roughText(main, MAX_LABEL) : ownText(halves[0], MAX_LABEL, surroundings);
  return { label: label || roughText(halves[0], MAX_LABEL), title: main };
};

const FIRST_TIER_ROLES = new Set([
  "button", "checkbox", "radio", "textbox", "combobox", "searchbox", "listbox", "slider", "spinbutton", "switch",
  "tab", "menuitem", "menuitemcheckbox", "menuitemradio",
]);
/** Choices of something that is open: before records, but there may be hundreds. */
const SECOND_TIER_ROLES = new Set(["option", "treeitem"]);

/** 1 controls and pagination, 2 navigation, 3 record titles, 4 other, 5 the rest of records and margins. @type {(role: string, section: string, pagination: boolean, record: boolean, title: boolean) => number} */
const tierOf = (role, section, pagination, record, title) => {
  if (FIRST_TIER_ROLES.has(role) || pagination) return 1;
  if (SECOND_TIER_ROLES.has(role) || section === "navigation" || section === "banner" || section === "search") return 2;
  if (record) return title ? 3 : 5;
  return section === "contentinfo" || section === "complementary" ? 5 : 4;
};
