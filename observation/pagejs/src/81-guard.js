// The guard: a click that lands elsewhere than it was aimed is kept from the page.
// The browser routes an input by the picture that it drew last; a frame that has
// moved since then, or something that slid over it, gets what was not meant for it.
//
// The listeners are there from the start of the document, so they come before the
// page's own.

/** How long it stays armed when nobody disarms it, in ms: as long as an action may take. */
const GUARD_LIMIT = 10000;

/** el null: no click may land in this document. @type {{el: Element | null, until: number, hit: boolean, missed: string} | null} */
let guard = null;

/** @type {(el: Element | null) => void} */
const arm = (el) => {
  guard = { el, until: now() + GUARD_LIMIT, hit: false, missed: "" };
};

/** @type {(event: Event) => void} */
const guardClick = (event) => {
  if (!guard || guard.hit || !event.isTrusted) return;
  if (now() > guard.until) {
    guard = null;
    return;
  }
  const hit = event.composedPath()[0];
  if (guard.el && !guard.missed && hit instanceof Element && reaches(guard.el, hit)) {
    guard.hit = true;
    return;
  }
  guard.missed = guard.missed || (hit instanceof Element && called(hit)) || "the page";
  event.stopImmediatePropagation();
  event.preventDefault();
};

for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick"]) addEventListener(type, guardClick, { capture: true });

/** Disarms it and says what came. @type {() => string} */
const disarm = () => {
  const { hit, missed } = guard || { hit: false, missed: "" };
  guard = null;
  return stringify({ hit, missed });
};
