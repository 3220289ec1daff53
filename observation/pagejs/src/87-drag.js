// Dragging: what the browser itself drags (draggable=true, links, pictures, selected
// text) ends some time after the release of the button.

/** How long to wait for that end, in ms. */
const DRAG_LIMIT = 2000;

/** @type {{started: boolean, ended: boolean, taken: boolean} | null} */
let drag = null;

/** @type {(event: Event) => void} */
const noteDrag = (event) => {
  if (!drag || !event.isTrusted) return;
  if (event.type === "dragstart") drag.started = true;
  if (event.type !== "dragend") return;
  const data = /** @type {DragEvent} */ (event).dataTransfer;
  drag.ended = true;
  drag.taken = data !== null && data.dropEffect !== "none";
};

/** Begins to watch; what came to the guard since it was armed. @type {() => string} */
const watchDrag = () => {
  drag = { started: false, ended: false, taken: false };
  for (const type of ["dragstart", "dragend"]) addEventListener(type, noteDrag, { capture: true });
  return stringify(guard ? { armed: true, hits: guard.hits, missed: guard.missed } : { armed: false });
};

/** Waits for the end of what the browser drags. @type {() => Promise<string>} */
const dragged = async () => {
  const start = now();
  while (drag && drag.started && !drag.ended && now() - start < DRAG_LIMIT) await nextFrame();
  const answer = drag || { started: false };
  drag = null;
  return stringify(answer);
};
