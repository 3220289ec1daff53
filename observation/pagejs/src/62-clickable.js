// What a user can click though it has no role: by its onclick, by its cursor, by its
// tabindex, or a canvas.
//
// The cursor is inherited, so only the outermost element that has it counts: not
// every child of a card. An onclick on an element that holds much else is there for
// what it holds, and is not that element's. Other listeners are not seen: a script
// cannot ask for them.

const CLICKABLE = "generic";

/** Elements that were listed without a role, so that they keep the one they were shown with. @type {WeakSet<Element>} */
const clickables = new WeakSet();

/** The role under which an element is, or was, listed. @type {(el: Element) => string} */
const listedRole = (el) => actionRole(el) || (clickables.has(el) ? CLICKABLE : "");

/** A control of one of these has nothing in it that is another. */
const CONTROL_ROLES = new Set(["button", "link", "checkbox", "radio", "switch"]);

/** How many others something may hold whose listener is its own. */
const MAX_INSIDE = 3;
/** The same of what has the cursor of a link. */
const MAX_INSIDE_POINTER = 10;
/** A canvas smaller than this, in CSS pixels, is decoration. */
const MIN_CANVAS = 16;

/** What one pass knows of the elements that have no role. */
class Clickables {
  constructor() {
    /** Below these the cursor says nothing new. @type {Set<Element>} */
    this.covered = new Set();
    /** Controls, and what is in them: a click there is one on the control. @type {Set<Element>} */
    this.controls = new Set();
  }

  /** Why el can be clicked, "" when it cannot; what has a role needs no reason. @param {Element} el @param {string} role */
  reason(el, role) {
    const parent = flatParent(el);
    if (CONTROL_ROLES.has(role) || (parent !== null && this.controls.has(parent))) {
      this.controls.add(el);
      return "";
    }
    const covered = parent !== null && this.covered.has(parent);
    if (covered || (role !== "" && role !== CLICKABLE)) this.covered.add(el);
    if (role !== "" && role !== CLICKABLE) return "";
    if (isHTML(el, "body") || isHTML(el, "html")) {
      if (styleOf(el).cursor === "pointer") this.covered.add(el);
      return "";
    }
    if (hasAttribute(el, "onclick")) return this.settle(el, covered, "listener");
    if (role === "" && !covered && isHTML(el, "canvas")) return clientHeightOf(el) >= MIN_CANVAS ? "canvas" : "";
    if (!covered && styleOf(el).cursor === "pointer") {
      this.covered.add(el);
      return isHTML(el, "label") && /** @type {HTMLLabelElement} */ (el).control ? "" : "cursor";
    }
    return role === "" ? "" : "tabindex";
  }

  /** @param {Element} el @param {boolean} covered @param {string} reason */
  settle(el, covered, reason) {
    if (!covered && styleOf(el).cursor === "pointer") this.covered.add(el);
    return reason;
  }

  /** Leaves out what only holds others. @param {Candidate[]} found in the order of the document @returns {Candidate[]} */
  sift(found) {
    return found.filter((c, i) => {
      if (c.by !== "listener" && c.by !== "cursor") return true;
      let inside = 0;
      while (inside <= MAX_INSIDE_POINTER && i + 1 + inside < found.length && flatContains(c.el, found[i + 1 + inside].el)) inside++;
      const pointer = c.by === "cursor" || this.covered.has(c.el);
      if (inside > (pointer ? MAX_INSIDE_POINTER : MAX_INSIDE)) return false;
      // It is there for the one control in it.
      return !(c.by === "cursor" && inside === 1 && roughText(c.el, MAX_LABEL) === roughText(found[i + 1].el, MAX_LABEL));
    });
  }
}
