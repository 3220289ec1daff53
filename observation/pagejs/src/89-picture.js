// Pictures: where elements stand.

/** The element, scrolled into view, and its box in this viewport. @type {(args: {doc: string, id: number, print: string}) => string} */
const showForPicture = (args) => {
  const el = lookUp(args);
  if (!(el instanceof Element)) return stringify(el);
  const current = currentPrint(el);
  if (current.print !== args.print) return stringify(refuse("changed", "it is now " + current.now));
  const surface = surfaceOf(el);
  if (!surface) return stringify(refuse("not_visible", called(el) + " is not visible"));
  const within = (/** @type {DOMRect} */ b) => b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight;
  let box = boxOf(surface);
  if (!within(box)) {
    const block = box.height > innerHeight ? "start" : "center";
    scrollIntoView(surface, { block, inline: box.width > innerWidth ? "start" : "center", behavior: "instant" });
    box = boxOf(surface);
  }
  return stringify({ box: [box.left, box.top, box.width, box.height] });
};

/** The boxes of elements in this viewport; all: also those out of it. @type {(args: {doc: string, ids: number[], all: boolean}) => string} */
const boxesOf = (args) => {
  const boxes = [];
  for (const id of args.doc === documentToken ? args.ids : []) {
    const el = nodeOf(id);
    const surface = el && isConnected(el) ? surfaceOf(el) : null;
    if (!surface) continue;
    const box = boxOf(surface);
    if (args.all || !isOffscreen(box)) boxes.push({ id, box: [box.left, box.top, box.width, box.height] });
  }
  return stringify({ boxes });
};

/** Boxes of a frame's viewport in this one; show scrolls the frame into view. @type {(args: {doc: string, id: number, boxes: number[][], show: boolean}) => string} */
const boxesOfFrame = (args) => {
  const el = lookUp(args);
  if (!(el instanceof HTMLElement)) return stringify({ boxes: [] });
  if (args.show && args.boxes.length === 1) {
    const [x, y, width, height] = args.boxes[0];
    for (const middle of [false, true]) scrollToPoint(el, () => pointHere(el, x + width / 2, y + height / 2), middle);
  }
  const boxes = args.boxes.map(([x, y, width, height]) => {
    const [left, top] = pointHere(el, x, y);
    const [right, bottom] = pointHere(el, x + width, y + height);
    return [left, top, right - left, bottom - top];
  });
  return stringify({ boxes });
};
