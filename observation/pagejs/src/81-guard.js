// The guard: a click that lands elsewhere than it was aimed is kept from the page.
// The browser routes an input by the picture that it drew last; a frame that has
// moved since then, or something that slid over it, gets what was not meant for it.
//
// The listeners are there from the start of the document, so they come before the
// page's own. What follows a press (its release, click, contextmenu…) shares its
// fate; each press of a double click is judged by itself.

/** How long it stays armed when nobody disarms it, in ms: as long as an action may take. */
const GUARD_LIMIT = 10000;

const GUARDED = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "contextmenu", "dblclick"];

/**
 * el null: no click may land in this document. passes is the last press's fate.
 * @type {{el: Element | null, until: number, passes: boolean | null, hits: number, missed: string} | null}
 */
let guard = null;

/** @type {(event: Event) => void} */
const guardClick = (event) => {
  if (!guard || !event.isTrusted) return;
  if (now() > guard.until) {
    guard = null;
    return;
  }
  if (event.type === "pointerdown" || guard.passes === null) judge(guard, event.composedPath()[0]);
  if (guard.passes) return;
  event.stopImmediatePropagation();
  event.preventDefault();
};

/** After one that missed none may pass: the others were meant for after it. @type {(g: NonNullable<typeof guard>, hit: EventTarget) => void} */
const judge = (g, hit) => {
  g.passes = g.el !== null && !g.missed && hit instanceof Element && reaches(g.el, hit);
  if (g.passes) g.hits++;
  else g.missed = g.missed || (hit instanceof Element && called(hit)) || "the page";
};

/** Again at each arming: document.open() drops listeners. */
const listenForClicks = () => {
  for (const type of GUARDED) addEventListener(type, guardClick, { capture: true });
};
listenForClicks();

/** @type {(el: Element | null) => void} */
const arm = (el) => {
  listenForClicks();
  guard = { el, until: now() + GUARD_LIMIT, passes: null, hits: 0, missed: "" };
};

/** Disarms it and says what came. @type {() => {armed: boolean, hits: number, missed: string}} */
const whatCame = () => {
  const { hits, missed } = guard || { hits: 0, missed: "" };
  const armed = guard !== null;
  guard = null;
  return { armed, hits, missed };
};

/** @type {() => string} */
const disarm = () => stringify(whatCame());
