// Extraction: tables and links as records.

/** @typedef {{doc: string, id: number, print: string, limit: number, chars: number}} ExtractArgs */

const MAX_HEADER = 120;
/** A span is bounded as HTML bounds it, and a table's cells as a whole. */
const MAX_SPAN = 1000;
const MAX_CELLS = 200000;

/** The text of a cell: as the user sees it, in one line. @type {(el: Element, limit: number) => string} */
const cellText = (el, limit) => cut(collapse(el instanceof HTMLElement && isVisible(el) ? innerTextOf(el) : textContent(el)), limit);

/** @type {(root: Element | null, selector: string) => Element | null} */
const within = (root, selector) => (root ? (matches(root, selector) ? root : queryOne(root, selector)) : null);

/** The table that a region means. @type {(region: Element | null) => Element | null} */
const tableOf = (region) => {
  if (!region) return documentQueryAll(document, "table,[role=table],[role=grid]")[0] || null;
  return within(region, "table,[role=table],[role=grid]") || closest(region, "table,[role=table],[role=grid]");
};

/** The rows that are the table's own, not of one inside of it. @type {(table: Element) => Element[]} */
const rowsOf = (table) =>
  Array.from(queryAll(table, "tr,[role=row]"), (r) => /** @type {Element} */ (r)).filter((r) => closest(parentNode(r), "table,[role=table],[role=grid]") === table);

/** @type {(row: Element) => Element[]} */
const cellsOf = (row) => {
  const own = [];
  for (let c = firstElementChild(row); c; c = nextElementSibling(c)) {
    const role = explicitRole(c);
    if (["td", "th"].includes(localName(c)) || ["cell", "gridcell", "columnheader", "rowheader"].includes(role)) own.push(c);
  }
  return own;
};

/** @type {(cell: Element) => boolean} */
const isHeader = (cell) => isHTML(cell, "th") || ["columnheader", "rowheader"].includes(explicitRole(cell));

/** @type {(cell: Element, name: string, rest: number) => number} */
const spanOf = (cell, name, rest) => {
  const declared = attributeOf(cell, name) || attributeOf(cell, "aria-" + name);
  if (declared === null) return 1;
  const n = parseInt(declared, 10);
  if (n === 0 && name === "rowspan") return rest; // to the end of the group
  return n >= 1 ? Math.min(n, MAX_SPAN) : 1;
};

/**
 * The grid: each cell in every position that it spans. A span that reaches past
 * the last column which any row begins a cell in is cut there.
 * @type {(rows: Element[]) => (Element | undefined)[][]}
 */
const gridOf = (rows) => {
  /** @type {(Element | undefined)[][]} */
  const grid = rows.map(() => []);
  let width = 0;
  let cells = 0;
  rows.forEach((row, y) => {
    let x = 0;
    for (const cell of cellsOf(row)) {
      while (grid[y][x]) x++;
      const across = spanOf(cell, "colspan", 1);
      const down = Math.min(spanOf(cell, "rowspan", rows.length - y), rows.length - y);
      for (let dy = 0; dy < down && cells < MAX_CELLS; dy++) {
        if (dy > 0 && parentNode(rows[y + dy]) !== parentNode(row)) break; // spans end with their group
        for (let dx = 0; dx < across && cells < MAX_CELLS; dx++, cells++) if (!grid[y + dy][x + dx]) grid[y + dy][x + dx] = cell;
      }
      width = Math.max(width, x + 1);
      x += across;
    }
  });
  return grid.map((r) => r.slice(0, width));
};

/** How many rows from the top are headers: those of thead, or of header cells only. @type {(rows: Element[]) => number} */
const headerRows = (rows) => {
  let n = 0;
  while (n < rows.length && (closest(rows[n], "thead") || (cellsOf(rows[n]).length > 0 && cellsOf(rows[n]).every(isHeader)))) n++;
  return n;
};

/** Column names: the last header row names, those above tell equal names apart. @type {(grid: (Element | undefined)[][], headers: number) => string[]} */
const columnNames = (grid, headers) => {
  const width = Math.max(0, ...grid.map((r) => r.length));
  /** @type {string[]} */
  const names = [];
  for (let x = 0; x < width; x++) {
    /** @type {string[]} */
    const parts = [];
    for (let y = 0; y < headers; y++) {
      const cell = grid[y][x];
      const text = cell ? cellText(cell, MAX_HEADER) : "";
      if (text && parts[parts.length - 1] !== text) parts.push(text);
    }
    let name = cut(parts.join(" / "), MAX_HEADER) || "column_" + (x + 1);
    for (let n = 2; names.includes(name); n++) name = cut(parts.join(" / ") || "column", MAX_HEADER) + "_" + n;
    names.push(name);
  }
  return names;
};

/** The element of the region, unless it is another thing now. @type {(args: ExtractArgs) => Element | null | Verdict} */
const regionOf = (args) => {
  if (!args.id) return null;
  const el = lookUp(args);
  if (!(el instanceof Element)) return el;
  const current = currentPrint(el);
  return current.print === args.print ? el : refuse("changed", "it is now " + current.now);
};

/** @type {(args: ExtractArgs) => string} */
const extractTable = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const table = tableOf(region);
  if (!table) return stringify(refuse("no_table", region ? "there is no table at " + called(region) : "the page has no table"));
  const rows = rowsOf(table).filter((r) => cellsOf(r).length > 0);
  const headers = headerRows(rows);
  const grid = gridOf(rows);
  const columns = columnNames(grid, headers);
  const body = grid.slice(headers);
  return stringify({
    doc: documentToken, url: location.href.slice(0, MAX_HREF * 4), columns, total: body.length,
    rows: body.slice(0, args.limit).map((r) => columns.map((_, x) => (r[x] ? cellText(/** @type {Element} */ (r[x]), args.chars) : ""))),
  });
};

/** The links that a region means: its own, else those of the list around it. @type {(region: Element | null) => Element | null} */
const linksRoot = (region) => {
  if (!region) return documentElementOf(document);
  if (queryOne(region, "a[href]")) return region;
  return closest(region, "ol,ul,dl,tbody") || flatParent(region) || region;
};

/** @type {(args: ExtractArgs) => string} */
const extractLinks = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const root = linksRoot(region);
  /** @type {Element[]} */
  const links = [];
  if (root) {
    walkFlat(root, (el) => {
      if (UNSEEN.has(localName(el)) && el !== root) return true;
      if (["a", "area"].includes(localName(el)) && implicitRole(el) === "link") links.push(el);
      return false;
    });
  }
  return stringify({
    doc: documentToken, url: location.href.slice(0, MAX_HREF * 4), columns: ["text", "url", "title"], total: links.length,
    rows: links.slice(0, args.limit).map((a) => [
      cut(collapse(textContent(a).slice(0, args.chars * 4)), args.chars) || cut(nameOf(a, "link"), args.chars), hrefOf(a),
      cut(collapse((attributeOf(a, "title") || "").slice(0, 1000)), 200),
    ]),
  });
};
