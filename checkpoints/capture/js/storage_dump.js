// Reads localStorage in chunks. Runs in an isolated world.
//
// arg: JSON {origin, from, budget}: where this must be running (the document may
// have changed since the caller looked), the first index to read, and after how
// many characters (UTF-16 code units) to stop; at least one entry is returned.
// Returns JSON {moved, denied, total, next, items: [{k, v}]}; next is -1 at the end.
// JSON.stringify writes unpaired surrogates as escapes, so every string passes.
(arg) => {
  const { origin, from, budget } = JSON.parse(arg);
  const none = { moved: false, denied: false, total: 0, next: -1, items: [] };
  if (self.origin !== origin) {
    return JSON.stringify({ ...none, moved: true });
  }
  let storage;
  try {
    storage = window.localStorage;
  } catch {
    return JSON.stringify({ ...none, denied: true });
  }
  if (!storage) {
    return JSON.stringify({ ...none, denied: true });
  }
  const total = storage.length;
  const items = [];
  let used = 0;
  let i = from;
  for (; i < total && used < budget; i++) {
    const k = storage.key(i);
    if (k === null) break;
    const v = storage.getItem(k);
    if (v === null) continue;
    items.push({ k, v });
    used += k.length + v.length;
  }
  return JSON.stringify({ ...none, total, next: i < total ? i : -1, items });
}
//# sourceURL=browserfleet://checkpoints/storage_dump.js
