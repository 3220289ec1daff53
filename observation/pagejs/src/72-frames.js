// Frames: where the elements that hold frames stand, and where a point of a
// frame's viewport is in this document's.

/** A frame smaller than this shows nobody anything. */
const MIN_FRAME = 3;

/** Takes the element that holds a frame into the table. @type {(el: Element) => string} */
const own = (el) => stringify({ doc: documentToken, id: identify(el) });

/** The host of the closed shadow root that an element is in, or null. @type {(el: Element) => Element | null} */
const closedHost = (el) => {
  const root = getRootNode(el);
  return root instanceof ShadowRoot && root.mode === "closed" ? root.host : null;
};

/** The holders of frames, and closed hosts around them, whose place the pass notes. @type {(ids: number[]) => Map<Element, number>} */
const placesOf = (ids) => {
  const places = new Map();
  for (const id of ids) for (let el = nodeOf(id); el; el = closedHost(el)) places.set(el, 0);
  return places;
};

/** What the pass found out about the frames of this document. @type {(ids: number[], places: Map<Element, number>) => object[]} */
const heldFrames = (ids, places) => {
  const held = [];
  for (const id of ids) {
    const el = nodeOf(id);
    if (!el || !isConnected(el)) continue;
    let order = 0;
    for (let n = /** @type {Element | null} */ (el); n && !order; n = closedHost(n)) order = places.get(n) || 0;
    const box = boxOf(el);
    lastBox.set(id, pageBox(box));
    const root = getRootNode(el);
    const active = root instanceof ShadowRoot ? shadowActive(root) : documentActive(document);
    held.push({
      id, order,
      shown: order > 0 && isVisible(el) && el.clientWidth >= MIN_FRAME && clientHeightOf(el) >= MIN_FRAME,
      offscreen: isOffscreen(box),
      focused: active === el,
    });
  }
  return held;
};

/** Whether anything around an element turns or tilts it. @type {(el: Element) => boolean} */
const isTurned = (el) => {
  for (let n = /** @type {Element | null} */ (el); n; n = flatParent(n)) {
    const style = styleOf(n);
    if (style.rotate !== "none" || style.perspective !== "none" || style.offsetPath !== "none") return true;
    if (style.transform === "none") continue;
    const m = new DOMMatrixReadOnly(style.transform);
    if (!m.is2D || m.b !== 0 || m.c !== 0 || m.a <= 0 || m.d <= 0) return true;
  }
  return false;
};

/** A point of the frame's viewport in this one. @type {(el: HTMLElement, x: number, y: number) => number[]} */
const pointHere = (el, x, y) => {
  const box = rectOf(el);
  const style = styleOf(el);
  const scale = (/** @type {number} */ drawn, /** @type {number} */ laid) => (laid === 0 || Math.abs(drawn - laid) < 1 ? 1 : drawn / laid);
  return [
    box.left + (el.clientLeft + parseFloat(style.paddingLeft) + x) * scale(box.width, el.offsetWidth),
    box.top + (el.clientTop + parseFloat(style.paddingTop) + y) * scale(box.height, el.offsetHeight),
  ];
};

/** Scrolls what is around an element until a place in it is in view, or in its middle. @type {(el: Element, place: () => number[], middle: boolean) => void} */
const scrollToPoint = (el, place, middle) => {
  const page = scrollingElementOf(document);
  for (let n = flatParent(el); n; n = flatParent(n)) {
    if (n !== page && (n === bodyOf(document) || !/auto|scroll|hidden|overlay/.test(styleOf(n).overflow))) continue;
    const area = n === page ? new DOMRect(0, 0, innerWidth, innerHeight) : rectOf(n);
    const [left, top] = place();
    const inside = left > area.left && left < area.right && top > area.top && top < area.bottom;
    if (inside && !middle) continue;
    scrollElementBy(n, { left: left - area.left - area.width / 2, top: top - area.top - area.height / 2, behavior: "instant" });
  }
};

/** Brings a point of a frame into view, with what a click would hit there. @type {(el: HTMLElement, x: number, y: number) => Verdict} */
const reachPoint = (el, x, y) => {
  if (isTurned(el)) return refuse("not_visible", "its frame is turned or tilted, so no click can be aimed into it");
  const before = boxOf(el);
  /** @type {Element | null} */
  let cover = null;
  for (const scroll of [null, false, true]) {
    if (scroll !== null) scrollToPoint(el, () => pointHere(el, x, y), scroll);
    const [left, top] = pointHere(el, x, y);
    const hit = elementAt(left, top);
    let holder = /** @type {Element | null} */ (el);
    while (holder && holder !== hit) holder = closedHost(holder);
    if (holder) {
      const after = boxOf(el);
      return { x: left, y: top, scrolled: before.top !== after.top || before.left !== after.left };
    }
    cover = hit || cover;
  }
  if (!cover) return refuse("not_visible", "its frame cannot be scrolled into view", true);
  return refuse("covered", "its frame is covered by " + called(cover), true);
};
