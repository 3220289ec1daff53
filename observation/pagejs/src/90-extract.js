// Extraction: a page's records, as rows of named strings. This file has what all
// kinds share, and links.

/**
 * @typedef {object} ExtractArgs
 * @property {string} doc
 * @property {number} id of the region, 0 for the whole page
 * @property {string} print
 * @property {number} index which table or list of the region, -1 for the one that is meant
 * @property {number} offset how many rows (of an article: characters) to leave out
 * @property {number} limit how many rows to return, at most
 * @property {number} chars of one value
 */

const MAX_HEADER = 120;
/** Tables and lists that an answer names besides its own. */
const MAX_FOUND = 20;

/** The text of an element as the user sees it, in one line. @type {(el: Element) => string} */
const lineOf = (el) => collapse(el instanceof HTMLElement && isVisible(el) ? innerTextOf(el) : textContent(el));

/** @type {(root: Element | null, selector: string) => Element | null} */
const within = (root, selector) => (root ? (matches(root, selector) ? root : queryOne(root, selector)) : null);

/** The element of the region, unless it is another thing now. @type {(args: ExtractArgs) => Element | null | Verdict} */
const regionOf = (args) => {
  if (!args.id) return null;
  const el = lookUp(args);
  if (!(el instanceof Element)) return el;
  const current = currentPrint(el);
  return current.print === args.print ? el : refuse("changed", "it is now " + current.now);
};

/** What a table or list is called: by itself, or by the heading that it stands under. @type {(el: Element) => string} */
const headingOf = (el) => {
  const name = nameOf(el, "table");
  if (name) return cut(name, MAX_LABEL);
  let n = /** @type {Element | null} */ (el);
  for (let up = 0; n && up < 4; up++, n = flatParent(n)) {
    let before = previousElementSibling(n);
    for (let tries = 0; before && tries < 3; tries++, before = previousElementSibling(before)) {
      if (matches(before, "table,ul,ol,dl")) break; // a heading before that is its own
      const heading = within(before, "h1,h2,h3,h4,h5,h6,[role=heading]");
      if (heading) return roughText(heading, MAX_LABEL);
    }
  }
  return "";
};

/**
 * The answer: a part of the rows, each value cut and marked if it was.
 * @type {(args: ExtractArgs, columns: string[], rows: string[][], total: number, more?: object) => string}
 */
const answerRows = (args, columns, rows, total, more) => {
  /** @type {number[][]} */
  const marks = [];
  const shown = rows.map((row, y) =>
    row.map((value, x) => {
      const short = cut(value, args.chars);
      if (short.length < value.length && marks.length < 100) marks.push([y, x]);
      return short;
    }),
  );
  return stringify({ doc: documentToken, url: location.href.slice(0, MAX_HREF * 4), columns, rows: shown, cut: marks, total, ...more });
};

/** Which of several is meant, with the names of all. @type {(args: ExtractArgs, all: Element[], meant: number, rows: (el: Element) => number) => {chosen: number, more: object}} */
const chooseOne = (args, all, meant, rows) => {
  const chosen = args.index >= 0 ? args.index : meant;
  const el = all[chosen];
  const found = all.length > 1 ? all.slice(0, MAX_FOUND).map((one, index) => ({ index, name: headingOf(one), rows: rows(one) })) : undefined;
  return { chosen, more: { index: chosen, name: el ? headingOf(el) : "", found } };
};

/** The links that a region means: its own, else those of the list around it. @type {(region: Element | null) => Element | null} */
const linksRoot = (region) => {
  if (!region) return documentElementOf(document);
  if (queryOne(region, "a[href]")) return region;
  return closest(region, "ol,ul,dl,tbody") || flatParent(region) || region;
};

/** @type {(args: ExtractArgs) => string} */
const extractLinks = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const root = linksRoot(region);
  /** @type {Element[]} */
  const links = [];
  if (root) {
    walkFlat(root, (el) => {
      if (UNSEEN.has(localName(el)) && el !== root) return true;
      if (["a", "area"].includes(localName(el)) && implicitRole(el) === "link") links.push(el);
      return false;
    });
  }
  const rows = links.slice(args.offset, args.offset + args.limit).map((a) => [
    collapse(textContent(a)) || nameOf(a, "link"), hrefOf(a), cut(collapse((attributeOf(a, "title") || "").slice(0, 1000)), 200),
  ]);
  return answerRows(args, ["text", "url", "title"], rows, links.length);
};
