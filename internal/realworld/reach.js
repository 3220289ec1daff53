// Whether a click could hit the first drawn link to href, wherever one scrolls: at
// a point that is not at its very edge, where a person would not aim.
((href) => {
  const drawn = (el) => [...el.getClientRects()].some((r) => r.width > 0 && r.height > 0) && getComputedStyle(el).visibility === "visible";
  for (const a of document.querySelectorAll("a[href],area[href]")) {
    if (a.href !== href || !drawn(a)) continue;
    a.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    for (const r of a.getClientRects()) {
      for (let x = 1; x < 10; x++) {
        for (let y = 1; y < 10; y++) {
          const hit = document.elementFromPoint(r.left + (r.width * x) / 10, r.top + (r.height * y) / 10);
          if (hit && (hit === a || a.contains(hit))) return true;
        }
      }
    }
    return false;
  }
  return false;
})
