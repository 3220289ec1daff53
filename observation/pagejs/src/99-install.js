// The one object on the isolated world's global.

Object.defineProperty(globalThis, "browserfleet", {
  value: Object.freeze({
    token: documentToken, document, own, observe, prepare, disarm, isShown, isHovered, focusField, setField, readField, choose, readChecked,
    focusElement, focusTyping, focusedElement, readTyped, watchDrag, dragged, showForPicture, boxesOf,
    boxesOfFrame, namesOfRole, scrollPage, firstLook, rest, watch, unwatch, waitForText, extractTable, extractLinks, extractList,
    extractArticle,
  }),
  configurable: true, // a re-used global of the next document installs again
  enumerable: false,
});
