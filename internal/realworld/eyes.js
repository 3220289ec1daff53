// What the page says of itself, in its own world. Written apart from the
// observation's script, by other means where there are any.
(() => {
  const one = (s) => s.replace(/[\s\u00a0]+/g, " ").trim();
  const drawn = (el) => {
    for (const part of [el, ...el.querySelectorAll("*")]) {
      const style = getComputedStyle(part);
      if (style.visibility !== "visible") continue;
      for (const r of part.getClientRects()) if (r.width > 0 && r.height > 0) return true;
    }
    return false;
  };
  const seen = (el) => drawn(el) || (el instanceof HTMLInputElement && [...(el.labels || [])].some(drawn));
  const outside = (el) => {
    const r = el.getBoundingClientRect();
    return r.bottom <= 0 || r.right <= 0 || r.top >= innerHeight || r.left >= innerWidth;
  };
  const acting =
    "a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,[onclick],[contenteditable=true]," +
    "[tabindex]:not([tabindex^='-']),[role=button],[role=link],[role=tab],[role=checkbox],[role=menuitem],[role=option]";
  const heading = [...document.querySelectorAll("h1")].find(drawn);
  const links = [...document.querySelectorAll("a[href],area[href]")];
  return {
    url: location.href,
    title: one(document.title),
    text: document.body.innerText.trim(),
    heading: heading ? one(heading.innerText) : "",
    acting: [...document.querySelectorAll(acting)].filter(seen).length,
    links: links.map((a) => ({ href: a.href, text: one(a.textContent), shown: one(a.innerText), title: one(a.title), drawn: drawn(a), off: outside(a), picture: one([...a.querySelectorAll("img")].map((i) => i.alt).join(" ")) })),
    tables: [...document.querySelectorAll("table")].map((t) => ({
      rows: [...t.rows].map((r) => [...r.cells].map((c) => ({ text: one(drawn(c) ? c.innerText : c.textContent), head: c.tagName === "TH", across: c.colSpan, down: c.rowSpan }))),
      heads: t.tHead ? t.tHead.rows.length : 0,
      links: [...t.querySelectorAll("a[href]")].filter(drawn).map((a) => a.href),
    })),
  };
})()
