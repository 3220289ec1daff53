// Writes entries into localStorage. Runs in an isolated world of an empty page.
//
// arg: JSON {origin, clear, items: [{k, v}]}; nothing is written elsewhere than
// at the origin.
// Returns JSON {written, failed, reason}: how many entries are there as wanted,
// how many are not, and the name of the first error (QuotaExceededError...).
(arg) => {
  const { origin, clear, items } = JSON.parse(arg);
  let written = 0;
  let failed = 0;
  let reason = "";
  if (self.origin !== origin) {
    return JSON.stringify({ written, failed: items.length, reason: "page is at another origin" });
  }
  let storage;
  try {
    storage = window.localStorage;
    if (clear) storage.clear();
  } catch (e) {
    return JSON.stringify({ written, failed: items.length, reason: String(e && e.name) });
  }
  for (const { k, v } of items) {
    try {
      storage.setItem(k, v);
      if (storage.getItem(k) === v) {
        written++;
        continue;
      }
      reason ||= "value differs after writing";
    } catch (e) {
      reason ||= String(e && e.name);
    }
    failed++;
  }
  return JSON.stringify({ written, failed, reason });
}
//# sourceURL=browserfleet://checkpoints/storage_load.js
