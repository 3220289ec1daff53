// Settling: did the page react, and has it come to rest?

/** Counts what a user could notice since the watch began. */
let changes = 0;
let lastChange = 0;
/** @type {MutationObserver | null} */
let watcher = null;

const noteChange = () => {
  changes++;
  lastChange = now();
};

/** Begins to watch; again: also what was added meanwhile. */
const watchChanges = () => {
  if (!watcher) {
    watcher = new MutationObserver(noteChange);
    for (const type of ["input", "change", "toggle"]) addEventListener(type, noteChange, { capture: true, passive: true });
  }
  const options = { subtree: true, childList: true, attributes: true, characterData: true };
  watcher.observe(document, options);
  for (const root of knownRoots) watcher.observe(root, options);
};

/** Ends the watch: mutation records are not free for a page. */
const endWatch = () => {
  if (!watcher) return;
  watcher.disconnect();
  watcher = null;
  for (const type of ["input", "change", "toggle"]) removeEventListener(type, noteChange, { capture: true });
};

/**
 * Calls the binding that turns this moment into an event. Replies overtake
 * events on their way to the caller; this event does not, so whoever has seen it
 * has seen every request and navigation that began before.
 * @type {(tick: string | undefined) => void}
 */
const ticked = (tick) => {
  const binding = /** @type {any} */ (globalThis).browserfleetTick;
  if (tick && typeof binding === "function") binding(tick);
};

/** Two frames after now: how much has changed since mark, and where did a click land? @type {(args: {mark: number, tick?: string}) => Promise<string>} */
const firstLook = async (args) => {
  await nextFrame();
  await nextFrame();
  ticked(args.tick);
  return stringify({ changes: changes - args.mark, guard: whatCame() });
};

/** Waits until nothing has changed for quiet ms, at most limit ms; fresh: for quiet ms from now on. @type {(args: {mark: number, quiet: number, limit: number, fresh?: boolean, tick?: string}) => Promise<string>} */
const rest = async (args) => {
  const start = now();
  for (;;) {
    const still = now() - Math.max(lastChange, args.fresh ? start : start - args.quiet);
    if (still >= args.quiet || now() - start >= args.limit) break;
    const wait = Math.max(1, Math.min(args.quiet - still, args.limit - (now() - start)));
    await new Promise((resolve) => later(resolve, wait));
  }
  ticked(args.tick);
  return stringify({ changes: changes - args.mark, quiet: now() - lastChange >= args.quiet });
};

/** Begins a watch without an element: keys, scrolling. @type {() => string} */
const watch = () => {
  watchChanges();
  return stringify({ mark: changes });
};

/** @type {() => string} */
const unwatch = () => {
  endWatch();
  return "{}";
};

/** Waits until the page's text has something in it. @type {(args: {text: string, limit: number}) => Promise<string>} */
const waitForText = async (args) => {
  const start = now();
  for (;;) {
    if (pageText().includes(args.text)) return stringify({ met: true });
    if (now() - start >= args.limit) return stringify({ met: false });
    await new Promise((resolve) => later(resolve, 100));
  }
};
