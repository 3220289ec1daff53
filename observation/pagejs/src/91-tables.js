// Extraction of tables: by tags, or by roles.

/** A span is bounded as HTML bounds it, and a table's cells as a whole. */
const MAX_SPAN = 1000;
const MAX_CELLS = 200000;

const TABLES = "table,[role=table],[role=grid],[role=treegrid]";

/** The tables that a region means: itself, those inside of it, or the nearest around it. @type {(region: Element | null) => Element[]} */
const tablesOf = (region) => {
  if (!region) return Array.from(documentQueryAll(document, TABLES));
  if (matches(region, TABLES)) return [region];
  const inside = Array.from(queryAll(region, TABLES));
  const around = inside.length ? null : closest(region, TABLES);
  return around ? [around] : inside;
};

/** The rows that are the table's own, not of one inside of it. @type {(table: Element) => Element[]} */
const rowsOf = (table) =>
  Array.from(queryAll(table, "tr,[role=row]"), (r) => /** @type {Element} */ (r)).filter((r) => closest(parentNode(r), TABLES) === table);

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

/**
 * Column names: the last header row names, those above tell equal names apart.
 * None is index, which numbers the rows.
 * @type {(grid: (Element | undefined)[][], headers: number) => string[]}
 */
const columnNames = (grid, headers) => {
  const width = Math.max(0, ...grid.map((r) => r.length));
  const names = ["index"];
  for (let x = 0; x < width; x++) {
    /** @type {string[]} */
    const parts = [];
    for (let y = 0; y < headers; y++) {
      const cell = grid[y][x];
      const text = cell ? cut(lineOf(cell), MAX_HEADER) : "";
      if (text && parts[parts.length - 1] !== text) parts.push(text);
    }
    let name = cut(parts.join(" / "), MAX_HEADER) || "column_" + (x + 1);
    for (let n = 2; names.includes(name); n++) name = cut(parts.join(" / ") || "column", MAX_HEADER) + "_" + n;
    names.push(name);
  }
  return names.slice(1);
};

/** The columns of which every cell names its row. @type {(body: (Element | undefined)[][], columns: string[]) => string[]} */
const rowHeaders = (body, columns) =>
  columns.filter((_, x) => body.length > 0 && body.every((row) => row[x] !== undefined && isHeader(/** @type {Element} */ (row[x]))));

/** @type {(args: ExtractArgs) => string} */
const extractTable = (args) => {
  const region = regionOf(args);
  if (region && !(region instanceof Element)) return stringify(region);
  const tables = tablesOf(region);
  const { chosen, more } = chooseOne(args, tables, 0, (t) => rowsOf(t).length);
  const table = tables[chosen];
  if (!table) {
    const there = tables.length ? "there are " + tables.length + ", from index 0" : region ? "there is no table at " + called(region) : "the page has no table";
    return stringify(refuse("no_table", tables.length ? "no table " + chosen + ": " + there : there));
  }
  const rows = rowsOf(table).filter((r) => cellsOf(r).length > 0);
  const headers = headerRows(rows);
  const grid = gridOf(rows);
  const columns = columnNames(grid, headers);
  const body = grid.slice(headers);
  const values = body.slice(args.offset, args.offset + args.limit).map((r) => columns.map((_, x) => (r[x] ? lineOf(/** @type {Element} */ (r[x])) : "")));
  return answerRows(args, columns, values, body.length, { ...more, row_headers: rowHeaders(body, columns) });
};
