// Scrolling.

/** @type {(el: Element) => boolean} */
const scrollsDown = (el) => {
  if (scrollHeightOf(el) <= clientHeightOf(el) + 1) return false;
  const overflow = styleOf(el).overflowY;
  return overflow === "auto" || overflow === "scroll" || overflow === "overlay";
};

/** What moves when the user scrolls at an element, or in the middle of the page. @type {(at: Element | null) => Element | null} */
const scrollerOf = (at) => {
  const page = scrollingElementOf(document);
  for (let n = at; n && n !== page; n = flatParent(n)) if (n !== bodyOf(document) && scrollsDown(n)) return n;
  if (at || !page || scrollHeightOf(page) > clientHeightOf(page) + 1) return page;
  for (let n = elementAt(innerWidth / 2, innerHeight / 2); n; n = flatParent(n)) if (scrollsDown(n)) return n;
  return page;
};

/** Scrolls and says how far. @type {(args: {doc: string, id: number, to: string, pages: number}) => string} */
const scrollPage = (args) => {
  /** @type {Element | null} */
  let at = null;
  if (args.id) {
    const el = lookUp(args);
    if (!(el instanceof Element)) return stringify(el);
    at = surfaceOf(el) || el;
  }
  if (args.to === "element") {
    if (!at) return stringify(refuse("stale", "the element is no longer on the page"));
    const before = boxOf(at);
    scrollIntoView(at, { block: "center", inline: "center", behavior: "instant" });
    const after = boxOf(at);
    return stringify({ moved: before.top !== after.top || before.left !== after.left });
  }
  const scroller = scrollerOf(at);
  if (!scroller) return stringify({ moved: false });
  const height = scroller === scrollingElementOf(document) ? innerHeight : clientHeightOf(scroller);
  const before = scrollTopOf(scroller);
  const target = { up: before - args.pages * height, down: before + args.pages * height, top: 0, bottom: scrollHeightOf(scroller) };
  scroller.scrollTo({ top: target[/** @type {"up"} */ (args.to)], behavior: "instant" });
  return stringify({ moved: scrollTopOf(scroller) !== before });
};
