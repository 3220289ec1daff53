// @ts-check
// The gift desk: one control for each kind of dialog a browser has.
(() => {
  "use strict";
  const LATER_MS = 1000;
  /** @param {string} id */
  const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  /** @param {string} text */
  const say = (text) => { at("outcome").textContent = text; };

  at("show-notice").addEventListener("click", () => {
    alert("Returns are free for 60 days.");
    say("The returns notice was read.");
  });
  at("empty-list").addEventListener("click", () => {
    const yes = confirm("Empty the wish list? This cannot be undone.");
    if (yes) at("wishes").textContent = "nothing any more";
    say(yes ? "The wish list is empty." : "The wish list was kept.");
  });
  at("add-note").addEventListener("click", () => {
    const note = prompt("What should the note say?", "With love");
    say(note === null ? "No gift note." : `The gift note says: ${note}`);
  });
  at("later").addEventListener("click", () => {
    say("The reminder will come.");
    setTimeout(() => {
      alert("This is your reminder.");
      say("The reminder came.");
    }, LATER_MS);
  });
  at("open-wrap").addEventListener("click", () => {
    /** @type {HTMLDialogElement} */ (at("wrap")).showModal();
  });
  at("wrap").addEventListener("close", () => {
    const chosen = /** @type {HTMLDialogElement} */ (at("wrap")).returnValue === "wrap";
    say(chosen ? `Wrapped in: ${/** @type {HTMLSelectElement} */ (at("paper")).value}` : "No wrapping.");
  });
  addEventListener("beforeunload", (event) => {
    if (/** @type {HTMLInputElement} */ (at("guard")).checked) event.preventDefault();
  });
})();
