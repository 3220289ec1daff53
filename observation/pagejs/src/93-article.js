// Extraction of an article: what a reader came for, without what is around it.

const MAX_ARTICLE = 500000; // UTF-16 units
const MAX_PARAGRAPHS = 5000;

const BLOCKS = new Set([
  "address", "article", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
  "h4", "h5", "h6", "header", "hgroup", "hr", "li", "main", "menu", "ol", "p", "pre", "search", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
]);
/** What is no part of the text, wherever it stands. */
const APART = new Set(["nav", "aside", "button", "select", "input", "textarea", "iframe", "object", "embed", "svg", "canvas", "audio", "video", "dialog", "form", "search"]);
const APART_ROLES = new Set(["navigation", "complementary", "search", "banner", "contentinfo", "dialog", "alertdialog", "button", "menu", "menubar", "toolbar", "tablist"]);
const APART_NAMES = /(^|[-_\s])(share|sharing|social|related|recommend(ed|ations)?|promo|advert(isement)?|ads?|sponsor(ed)?|comments?|sidebar|cookie|consent|newsletter|subscribe|breadcrumbs?|pagination|pager|toc|skip)([-_\s]|$)/i;

/** @type {(el: Element, root: Element) => boolean} */
const isApart = (el, root) => {
  const tag = localName(el);
  if (el === root) return false;
  if (tag === "form" && queryOne(el, "p,h1,h2,h3,article")) return false; // a whole page may stand in a form
  if (UNSEEN.has(tag) || APART.has(tag) || APART_ROLES.has(explicitRole(el)) || attributeOf(el, "aria-hidden") === "true") return true;
  if (tag === "footer" || (tag === "header" && closest(el, "article,main,[role=main]") === null)) return true;
  if (hasAttribute(el, "class") || hasAttribute(el, "id")) {
    const names = (attributeOf(el, "class") || "") + " " + (attributeOf(el, "id") || "");
    const told = BLOCKS.has(tag) && names.length < 1000 && APART_NAMES.test(names) && !["article", "main"].includes(tag);
    // A wrapper around everything may say that there is a sidebar in it.
    if (told && roughText(el, 20000).length * 2 < roughText(root, 20000).length) return true;
  }
  return !checkVisibility(el, { visibilityProperty: true }) && styleOf(el).display !== "contents";
};

/** How much of the text below el is links. @type {(el: Element) => number} */
const linkShare = (el) => {
  const all = roughText(el, 20000).length;
  let linked = 0;
  for (const a of queryAll(el, "a")) linked += roughText(/** @type {Element} */ (a), 1000).length;
  return all ? Math.min(1, linked / all) : 1;
};

/**
 * The element that holds most of the prose: each paragraph speaks for its parent,
 * half as much for the parent of that, and a third for the next.
 * @type {(root: Element) => Element | null}
 */
const proseOf = (root) => {
  /** @type {Map<Element, number>} */
  const scores = new Map();
  let paragraphs = 0;
  walkFlat(root, (el) => {
    if (paragraphs >= MAX_PARAGRAPHS || isApart(el, root)) return true;
    const tag = localName(el);
    const bare = tag === "div" && !queryOne(el, "div,p,section,article,ul,ol,table,pre,blockquote");
    if (!["p", "pre", "blockquote"].includes(tag) && !bare) return false;
    const text = roughText(el, 2000);
    if (text.length < 25) return true;
    paragraphs++;
    const score = (1 + Math.min(text.length / 100, 3) + Math.min(text.split(/[,、，]/).length - 1, 5)) * (1 - linkShare(el));
    let up = flatParent(el);
    for (let level = 1; up && level <= 3 && contains(root, up); level++, up = flatParent(up)) scores.set(up, (scores.get(up) || 0) + score / level);
    return true;
  });
  let best = /** @type {Element | null} */ (null);
  let most = 0;
  for (const [el, score] of Array.from(scores).sort((a, b) => b[1] - a[1]).slice(0, 20)) {
    const weighed = score * (1 - linkShare(el) / 2);
    if (weighed > most) [best, most] = [el, weighed];
  }
  return best;
};

/** The article that a region means, or the page's. @type {(region: Element | null) => Element | null} */
const articleOf = (region) => {
  const root = region || bodyOf(document) || documentElementOf(document);
  if (!root) return null;
  const prose = proseOf(root);
  const named = prose ? closest(prose, "article,[role=article]") : null;
  if (named && contains(root, named)) return named;
  return prose || within(root, "article,[role=article],main,[role=main]") || root;
};

/** Puts text together: words with one space, blocks in lines of their own. */
class Prose {
  constructor() {
    this.out = "";
    this.gap = 0;
    this.space = false;
    this.lead = "";
  }

  /** @param {number} lines @param {string} [lead] */
  block(lines, lead) {
    this.gap = Math.max(this.gap, lines);
    this.space = false;
    if (lead) this.lead = lead;
  }

  /** @param {string} text */
  words(text) {
    const line = text.replace(/[\s\u00a0]+/g, " ");
    const rest = line.trim();
    if (!rest) {
      if (line) this.space = true;
      return;
    }
    this.open();
    if (this.out && !this.out.endsWith("\n") && !this.out.endsWith(" ") && (this.space || line.startsWith(" "))) this.out += " ";
    this.out += rest;
    this.space = line.endsWith(" ");
  }

  /** @param {string} text */
  verbatim(text) {
    this.open();
    this.out += text;
    this.space = false;
  }

  open() {
    if (this.gap && this.out) this.out += "\n".repeat(this.gap);
    this.gap = 0;
    if (this.lead) this.out += this.lead;
    this.lead = "";
  }
}

/** How far apart a block stands, and what is before its first word. @type {(el: Element) => {lines: number, lead: string}} */
const blockOf = (el) => {
  const tag = localName(el);
  if (/^h[1-6]$/.test(tag)) return { lines: 2, lead: "#".repeat(Number(tag[1])) + " " };
  if (tag === "li") {
    const list = parentNode(el);
    const own = list && nodeType(list) === 1 && localName(list) === "ol" ? itemsOf(list) : [];
    const marker = own.length ? markersOf(list, own)[own.indexOf(el)] : "";
    return { lines: 1, lead: marker ? marker + ". " : "- " };
  }
  return { lines: ["tr", "dt", "dd", "tbody", "thead", "tfoot", "summary"].includes(tag) ? 1 : 2, lead: tag === "blockquote" ? "> " : "" };
};

/** The text of an article: headings begin with #, items with -. @type {(root: Element) => string} */
const articleText = (root) => {
  const prose = new Prose();
  /** @type {(Node | {end: Element})[]} */
  const stack = [root];
  for (let n = stack.pop(); n && prose.out.length < MAX_ARTICLE; n = stack.pop()) {
    if ("end" in n) {
      prose.block(blockOf(n.end).lines);
      continue;
    }
    if (nodeType(n) === 3) prose.words(textContent(n));
    if (nodeType(n) !== 1) continue;
    const el = /** @type {Element} */ (n);
    const tag = localName(el);
    if (isApart(el, root)) continue;
    if (tag === "br") {
      prose.block(1);
      continue;
    }
    if (tag === "pre") {
      prose.block(2);
      prose.verbatim(textContent(el).replace(/\s+$/, ""));
      prose.block(2);
      continue;
    }
    if (tag === "td" || tag === "th") prose.words(previousElementSibling(el) ? " | " : "");
    if (BLOCKS.has(tag)) {
      const { lines, lead } = blockOf(el);
      prose.block(lines, lead);
      stack.push({ end: el });
    }
    const children = flatChildren(el);
    for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
  }
  return cut(prose.out.trim(), MAX_ARTICLE);
};

/** @type {(name: string) => string} */
const metaOf = (name) => {
  for (const attribute of ["property", "name", "itemprop"]) {
    const found = documentQueryAll(document, "meta[" + attribute + '="' + name + '"]')[0];
    if (found) return collapse((attributeOf(found, "content") || "").slice(0, 1000));
  }
  return "";
};

/** @type {(root: Element, selector: string) => string} */
const firstText = (root, selector) => {
  for (const el of queryAll(root, selector)) {
    const text = roughText(/** @type {Element} */ (el), 300);
    if (text) return text;
  }
  return "";
};

/** @type {(args: ExtractArgs) => string} */
const extractArticle = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const root = articleOf(region);
  if (!root) return stringify(refuse("no_article", "the page is empty"));
  const around = closest(root, "article,[role=article],main,[role=main]") || root;
  const body = documentElementOf(document) || root;
  const title = firstText(around, "h1") || firstText(around, "h2,[role=heading]") || firstText(body, "h1") || metaOf("og:title") || collapse(titleOf(document).slice(0, 4000));
  const byline = firstText(around, '[rel~=author],[itemprop~=author],.byline,[class*="byline" i],[class*="author" i]') || metaOf("author") || metaOf("article:author");
  const time = queryOne(around, "time[datetime]");
  const published = time ? attributeOf(time, "datetime") || "" : metaOf("article:published_time") || metaOf("datePublished");
  const text = articleText(root);
  // Whole: where it is cut is decided where the secrets in it are known.
  return answerRows({ ...args, chars: MAX_ARTICLE }, ["title", "byline", "published", "text"],
    [[cut(title, 300), cut(byline, 300), cut(published, 64), text]], codePoints(text));
};
