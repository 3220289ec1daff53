// Waiting for an element that no observation has shown.

/** Roles of elements that are not listed. @type {Record<string, string>} */
const SHOWN_ROLES = {
  h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", dialog: "dialog", img: "img", table: "table",
  li: "listitem", ul: "list", ol: "list", form: "form", nav: "navigation", main: "main", progress: "progressbar",
};

const MAX_NAMED = 300;
const MAX_NAMED_CHARS = 500;

/** The names of the visible elements of a role; the first in the page's order. @type {(args: {role: string}) => string} */
const namesOfRole = (args) => {
  const root = documentElementOf(document);
  /** @type {string[]} */
  const names = [];
  if (root) {
    walkFlat(root, (el) => {
      if (names.length >= MAX_NAMED || (UNSEEN.has(localName(el)) && el !== root)) return true;
      const roles = [anyRole(el) || SHOWN_ROLES[localName(el)], actionRole(el)];
      if (roles.includes(args.role) && surfaceOf(el)) names.push(cut(nameOf(el, args.role), MAX_NAMED_CHARS));
      return false;
    });
  }
  return stringify({ names });
};
