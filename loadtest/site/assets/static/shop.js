// @ts-check
// The script of every page: theme, what the browser remembers, recently viewed.
(() => {
  "use strict";
  const THEME = "shop.theme", USER = "shop.signed_in_as", VIEWED = "shop.viewed";
  const MAX_VIEWED = 6;

  // localStorage throws where storage is blocked; the shop then remembers nothing.
  const read = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const write = (key, value) => { try { localStorage.setItem(key, value); } catch { /* blocked or full */ } };
  const forget = (key) => { try { localStorage.removeItem(key); } catch { /* blocked */ } };

  /** @returns {{sku: string, name: string}[]} */
  const viewed = () => {
    try {
      const list = JSON.parse(read(VIEWED) ?? "[]");
      return Array.isArray(list) ? list.filter((v) => typeof v?.sku === "string" && typeof v?.name === "string") : [];
    } catch { return []; }
  };

  const theme = () => (read(THEME) === "dark" ? "dark" : "light");
  const showTheme = () => {
    document.documentElement.dataset.theme = theme();
    const button = document.getElementById("theme");
    if (button) button.textContent = theme() === "dark" ? "Light theme" : "Dark theme";
  };

  const noteProduct = () => {
    const product = document.querySelector("article.product");
    if (!(product instanceof HTMLElement)) return;
    const { sku = "", name = "" } = product.dataset;
    const rest = viewed().filter((v) => v.sku !== sku);
    write(VIEWED, JSON.stringify([{ sku, name }, ...rest].slice(0, MAX_VIEWED)));
  };

  const listViewed = () => {
    const section = document.getElementById("viewed"), list = document.getElementById("viewed-list");
    if (!section || !list) return;
    for (const { sku, name } of viewed()) {
      const link = document.createElement("a");
      link.href = "/product/" + encodeURIComponent(sku);
      link.textContent = name;
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    section.hidden = list.children.length === 0;
  };

  // Only the first account page after a sign-in is marked fresh. Later ones
  // only read, so a lost localStorage stays visible.
  const remember = () => {
    const line = document.getElementById("remembered");
    if (!line) return;
    if (line.dataset.fresh === "yes") {
      write(USER, line.dataset.user ?? "");
      write(THEME, theme());
    }
    const user = read(USER);
    line.dataset.state = user === null ? "lost" : "kept";
    line.textContent = user === null
      ? "This browser remembers nothing: its localStorage has no sign-in."
      : `This browser remembers: signed in as ${user}, ${theme()} theme, products viewed: ${viewed().length}.`;
  };

  document.getElementById("theme")?.addEventListener("click", () => {
    write(THEME, theme() === "dark" ? "light" : "dark");
    showTheme();
    remember();
  });
  if (document.getElementById("signed-out")) forget(USER);
  noteProduct();
  listViewed();
  remember();
  showTheme();
})();
