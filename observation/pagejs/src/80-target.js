// Before an action: is the element still what the agent saw, and can it be
// acted on? Everything that a click checks happens in one call.

/**
 * @typedef {object} PrepareArgs
 * @property {string} doc the document's token
 * @property {number} id
 * @property {string} print the fingerprint that the agent was shown
 * @property {string} kind click, hover, drag, drop, fill, secret, type, select, check, press, scroll, frame
 * @property {number} [x] of a frame: a point of its viewport, to be brought into view
 * @property {number} [y]
 * @property {{x: number, y: number}} [offset] where in the box, from its top left; its middle when absent
 * @property {boolean} [guard] arms the guard for the element, or for none when it holds a frame
 * @property {number} patience ms to wait for an obstacle to go
 * @property {number} deadline ms to wait for a moving target
 * @property {string[]} [values] of a select
 * @property {string} [value] of a fill that is no secret
 * @property {boolean} [checked]
 */

/** @typedef {{error?: string, message?: string, retry?: boolean, [key: string]: any}} Verdict */

/** @type {(error: string, message?: string, retry?: boolean) => Verdict} */
const refuse = (error, message, retry) => ({ error, message, retry: retry || false });

/** The element as a person would call it. @type {(el: Element) => string} */
const called = (el) => {
  const role = anyRole(el) || localName(el);
  const name = nameOf(el, NAMED_BY_CONTENT.has(role) ? role : "generic");
  const id = attributeOf(el, "id");
  return role + (name ? " " + stringify(cut(name, 60)) : id ? " #" + cut(id, 40) : "");
};

/** Looks an element up. @type {(args: {doc: string, id: number}) => Element | Verdict} */
const lookUp = (args) => {
  if (args.doc !== documentToken) return refuse("stale", "the page was loaded again since then");
  const el = nodeOf(args.id);
  if (!el || !isConnected(el)) return refuse("stale", "the element is no longer on the page");
  return el;
};

/** The element's present fingerprint, with what it is now. @type {(el: Element) => {print: string, now: string}} */
const currentPrint = (el) => {
  const role = listedRole(el);
  const name = nameOf(el, role);
  const surroundings = new Surroundings();
  const record = surroundings.record(el);
  const label = record ? surroundings.title(record).label : "";
  return { print: fingerprint(el, role, name, record, label), now: (role || localName(el)) + " " + stringify(cut(name, 80)) };
};

/** What is at a point, through shadow roots. @type {(x: number, y: number) => Element | null} */
const elementAt = (x, y) => {
  let el = documentFromPoint(document, x, y);
  for (let root = el && shadowRootOf(el); root; root = el && shadowRootOf(el)) {
    const inner = shadowFromPoint(root, x, y);
    if (!inner || inner === el) break;
    el = inner;
  }
  return el;
};

/**
 * Whether a click that lands on hit is a click on el: inside of it, or inside of
 * a label of it and there not on something that has a click of its own.
 * @type {(el: Element, hit: Element | null) => boolean}
 */
const reaches = (el, hit) => {
  if (!hit) return false;
  if (flatContains(el, hit)) return true;
  const other = closest(hit, "a[href],button,input,select,textarea");
  for (const label of labelsOf(el)) if (flatContains(label, hit) && (!other || flatContains(other, label))) return true;
  return false;
};

/** Points to try within the visible part of each box. @type {(surface: Element) => number[][]} */
const pointsOf = (surface) => {
  let rects = Array.from(rectsOf(surface), (r) => /** @type {DOMRect} */ (r)).filter((r) => r.width > 0 && r.height > 0);
  if (rects.length === 0) rects = [boxOf(surface)];
  const points = [];
  for (const part of [[0.5, 0.5], [0.25, 0.25], [0.75, 0.75], [0.75, 0.25], [0.25, 0.75]]) {
    for (const r of rects.slice(0, 8)) {
      const left = Math.max(r.left, 0);
      const top = Math.max(r.top, 0);
      const width = Math.min(r.right, innerWidth) - left;
      const height = Math.min(r.bottom, innerHeight) - top;
      if (width > 0 && height > 0) points.push([left + width * part[0], top + height * part[1]]);
    }
  }
  return points;
};

/** A point where a click reaches el, else what is in the way. @type {(el: Element, surface: Element) => {point?: number[], cover?: Element | null}} */
const hitTest = (el, surface) => {
  /** @type {Element | null} */
  let cover = null;
  for (const point of pointsOf(surface)) {
    const hit = elementAt(point[0], point[1]);
    if (reaches(el, hit)) return { point };
    cover = cover || hit;
  }
  return { cover };
};

/** Scrolls until a click would reach el: the middle first, which clears sticky headers. @type {(el: Element, surface: Element) => {point?: number[], cover?: Element | null, scrolled: boolean}} */
const bringIntoView = (el, surface) => {
  let test = hitTest(el, surface);
  if (test.point) return { ...test, scrolled: false };
  const before = boxOf(surface);
  for (const block of ["center", "end", "start"]) {
    scrollIntoView(surface, { block, inline: "center", behavior: "instant" });
    const next = hitTest(el, surface);
    if (next.point || next.cover) test = next;
    if (next.point) break;
  }
  const after = boxOf(surface);
  return { ...test, scrolled: before.top !== after.top || before.left !== after.left };
};

/** Brings a place in the box into view. @type {(el: Element, surface: Element, offset: {x: number, y: number}) => Verdict} */
const aimAt = (el, surface, offset) => {
  const before = boxOf(surface);
  if (offset.x >= before.width || offset.y >= before.height) {
    const size = Math.round(before.width) + " x " + Math.round(before.height);
    return refuse("bad_argument", "the offset " + offset.x + "," + offset.y + " lies outside of " + called(el) + ", which is " + size);
  }
  const place = () => {
    const box = boxOf(surface);
    return [box.left + offset.x, box.top + offset.y];
  };
  /** @type {Element | null} */
  let cover = null;
  for (const scroll of [null, false, true]) {
    if (scroll !== null) scrollToPoint(surface, place, scroll);
    const [x, y] = place();
    const hit = elementAt(x, y);
    if (reaches(el, hit)) {
      const after = boxOf(surface);
      return { x, y, scrolled: before.top !== after.top || before.left !== after.left };
    }
    cover = hit || cover;
  }
  if (!cover) return refuse("not_visible", "that place of " + called(el) + " cannot be scrolled into view", true);
  return refuse("covered", "that place of " + called(el) + " is covered by " + called(cover), true);
};

/** Elements whose events come to another document, or to none. */
const ELSEWHERE = new Set(["iframe", "frame", "object", "embed"]);

/** Whether something animates el or an ancestor of it. @type {(el: Element) => boolean} */
const isAnimated = (el) => {
  for (let n = /** @type {Element | null} */ (el); n; n = flatParent(n)) {
    for (const animation of animationsOf(n)) if (animation.playState === "running") return true;
  }
  return false;
};

/** @type {(a: DOMRect, b: DOMRect) => boolean} */
const sameBox = (a, b) => a.left === b.left && a.top === b.top && a.width === b.width && a.height === b.height;

/** Checks that cost nothing and cannot become true by waiting. @type {(el: Element, args: PrepareArgs) => Verdict | null} */
const checkIdentity = (el, args) => {
  const current = currentPrint(el);
  if (args.print && current.print !== args.print) return refuse("changed", "it is now " + current.now);
  return null;
};

/** One try. @type {(el: Element, args: PrepareArgs) => Verdict} */
const tryPrepare = (el, args) => {
  const changed = checkIdentity(el, args);
  if (changed) return changed;
  const surface = surfaceOf(el);
  if (!surface) return refuse("not_visible", called(el) + " is not visible", true);
  if (args.kind === "press" || args.kind === "scroll") return { surface };
  if (args.kind === "frame") {
    const reached = reachPoint(/** @type {HTMLElement} */ (el), args.x || 0, args.y || 0);
    return reached.error ? reached : { ...reached, surface };
  }
  if (args.kind !== "hover" && args.kind !== "drop" && isDisabled(el)) return refuse("disabled", called(el) + " is disabled", true);
  const special = CHECKS[args.kind] ? CHECKS[args.kind](el, args) : null;
  if (special && (special.error || special.done)) return special;
  if (args.kind === "fill" || args.kind === "secret" || args.kind === "type" || args.kind === "select") return { ...special, surface };
  if (args.offset) {
    const aimed = aimAt(el, surface, args.offset);
    return aimed.error ? aimed : { ...special, surface, ...aimed };
  }
  const view = bringIntoView(el, surface);
  if (!view.point) {
    if (!view.cover) return refuse("not_visible", called(el) + " cannot be scrolled into view", true);
    const why = styleOf(el).pointerEvents === "none" ? " takes no clicks (pointer-events: none); behind it is " : " is covered by ";
    return refuse("covered", called(el) + why + called(view.cover), true);
  }
  return { ...special, surface, x: view.point[0], y: view.point[1], scrolled: view.scrolled };
};

/** Whether there is a reason to look twice: a frame costs 14 ms. @type {(el: Element, verdict: Verdict) => boolean} */
const isRestless = (el, verdict) => {
  if (verdict.scrolled || isAnimated(verdict.surface)) return true;
  const known = lastBox.get(identify(el));
  const box = pageBox(boxOf(verdict.surface));
  return known !== undefined && known.some((n, i) => n !== box[i]);
};

/** Checks an element and readies it for an action. @type {(args: PrepareArgs) => Promise<string>} */
const prepare = async (args) => {
  disarm();
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  const start = now();
  let rested = 0;
  let needed = -1; // frames at rest, unknown before the first good look
  for (;;) {
    const verdict = tryPrepare(el, args);
    if (verdict.error) {
      if (!verdict.retry || now() - start > args.patience) return stringify(verdict);
      await nextFrame();
      if (!isConnected(el)) return stringify(refuse("stale", "the element is no longer on the page"));
      continue;
    }
    if (needed < 0) needed = verdict.x !== undefined && isRestless(el, verdict) ? 2 : 0;
    if (rested >= needed) {
      if (args.guard && !verdict.done) armFor(el, args, verdict);
      return finishPrepare(el, verdict);
    }
    if (now() - start > args.deadline) return stringify(refuse("moving", called(el) + " does not stop moving"));
    const before = boxOf(verdict.surface);
    // What is animated and not drawn, since the machine is busy, is not at rest.
    await nextFrame(isAnimated(verdict.surface) ? 1000 : 100);
    if (!isConnected(el)) return stringify(refuse("stale", "the element is no longer on the page"));
    rested = sameBox(before, boxOf(verdict.surface)) ? rested + 1 : 0;
  }
};

/** A click on a frame or plugin comes to no guard of this document. @type {(el: Element, args: PrepareArgs, verdict: Verdict) => void} */
const armFor = (el, args, verdict) => {
  if (args.kind === "frame") return arm(null);
  const hit = elementAt(verdict.x, verdict.y);
  if (!hit || !ELSEWHERE.has(localName(hit))) arm(el);
};

/** @type {(el: Element, verdict: Verdict) => string} */
const finishPrepare = (el, verdict) => {
  delete verdict.surface;
  watchChanges();
  return stringify({ ...verdict, mark: changes, value: isSecret(el) ? undefined : cut(fieldValue(el), MAX_VALUE), checked: checkedState(el, listedRole(el)) || undefined });
};

/** Whether the pointer is over an element. @type {(args: {doc: string, id: number}) => string} */
const isHovered = (args) => {
  const el = lookUp(args);
  return stringify({ gone: !(el instanceof Element), hovered: el instanceof Element && matches(el, ":hover") });
};

/** Whether a ref is there and visible: for waiting. @type {(args: {doc: string, id: number}) => string} */
const isShown = (args) => {
  const el = lookUp(args);
  return stringify({ shown: el instanceof Element && surfaceOf(el) !== null, stale: !(el instanceof Element) });
};
