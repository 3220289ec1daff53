// Built-ins, captured when the document starts.
//
// The isolated world has prototypes of its own, so a page cannot patch them. It
// can clobber names, though: <form><input name="parentNode"></form> shadows
// form.parentNode in every world, and <img name="body"> shadows document.body.
// So what is read of a node or of the document is read through these getters.

/** @type {(f: Function) => (...args: any[]) => any} */
const uncurry = (f) => Function.prototype.call.bind(f);

/** @type {(proto: object, name: string) => (node: any) => any} */
const getterOf = (proto, name) => {
  const property = Object.getOwnPropertyDescriptor(proto, name);
  if (!property || !property.get) throw new TypeError("no getter " + name);
  return uncurry(property.get);
};

/** @type {(proto: object, name: string) => (node: any, value: any) => void} */
const setterOf = (proto, name) => {
  const property = Object.getOwnPropertyDescriptor(proto, name);
  if (!property || !property.set) throw new TypeError("no setter " + name);
  return uncurry(property.set);
};

const nodeType = getterOf(Node.prototype, "nodeType");
const parentNode = getterOf(Node.prototype, "parentNode");
const firstChild = getterOf(Node.prototype, "firstChild");
const nextSibling = getterOf(Node.prototype, "nextSibling");
const textContent = getterOf(Node.prototype, "textContent");
const isConnected = getterOf(Node.prototype, "isConnected");
const getRootNode = uncurry(Node.prototype.getRootNode);
const contains = uncurry(Node.prototype.contains);
const fire = uncurry(EventTarget.prototype.dispatchEvent);

const localName = getterOf(Element.prototype, "localName");
const namespaceURI = getterOf(Element.prototype, "namespaceURI");
const shadowRootOf = getterOf(Element.prototype, "shadowRoot");
const assignedSlot = getterOf(Element.prototype, "assignedSlot");
const textAssignedSlot = getterOf(Text.prototype, "assignedSlot");
const lastElementChild = getterOf(Element.prototype, "lastElementChild");
const firstElementChild = getterOf(Element.prototype, "firstElementChild");
const previousElementSibling = getterOf(Element.prototype, "previousElementSibling");
const nextElementSibling = getterOf(Element.prototype, "nextElementSibling");
const attributeOf = uncurry(Element.prototype.getAttribute);
const hasAttribute = uncurry(Element.prototype.hasAttribute);
const hasAttributes = uncurry(Element.prototype.hasAttributes);
const matches = uncurry(Element.prototype.matches);
const closest = uncurry(Element.prototype.closest);
const queryOne = uncurry(Element.prototype.querySelector);
const queryAll = uncurry(Element.prototype.querySelectorAll);
const rectOf = uncurry(Element.prototype.getBoundingClientRect);
const rectsOf = uncurry(Element.prototype.getClientRects);
const checkVisibility = uncurry(Element.prototype.checkVisibility);
const scrollElementBy = uncurry(Element.prototype.scrollBy);
const scrollIntoView = uncurry(Element.prototype.scrollIntoView);
const animationsOf = uncurry(Element.prototype.getAnimations);
const scrollTopOf = getterOf(Element.prototype, "scrollTop");
const scrollHeightOf = getterOf(Element.prototype, "scrollHeight");
const clientHeightOf = getterOf(Element.prototype, "clientHeight");
const innerTextOf = getterOf(HTMLElement.prototype, "innerText");
const contentEditableOf = getterOf(HTMLElement.prototype, "isContentEditable");
const focusOf = uncurry(HTMLElement.prototype.focus);
const assignedNodes = uncurry(HTMLSlotElement.prototype.assignedNodes);
const assignedElements = uncurry(HTMLSlotElement.prototype.assignedElements);

const bodyOf = getterOf(Document.prototype, "body");
const documentElementOf = getterOf(Document.prototype, "documentElement");
const titleOf = getterOf(Document.prototype, "title");
const scrollingElementOf = getterOf(Document.prototype, "scrollingElement");
const documentActive = getterOf(Document.prototype, "activeElement");
const shadowActive = getterOf(ShadowRoot.prototype, "activeElement");
const documentFromPoint = uncurry(Document.prototype.elementFromPoint);
const shadowFromPoint = uncurry(ShadowRoot.prototype.elementFromPoint);
const documentById = uncurry(Document.prototype.getElementById);
const fragmentById = uncurry(DocumentFragment.prototype.getElementById);
const documentQueryAll = uncurry(Document.prototype.querySelectorAll);
const execCommand = uncurry(Document.prototype.execCommand);
const createElement = uncurry(Document.prototype.createElement);

const styleOf = getComputedStyle;
const stringify = JSON.stringify;
const frameOf = requestAnimationFrame;
const later = setTimeout;
const clearLater = clearTimeout;
const now = () => performance.now();

const HTML_NAMESPACE = "http://www.w3.org/1999/xhtml";

/** An element of HTML with this name; an SVG <a> is none. @type {(el: Element, name: string) => boolean} */
const isHTML = (el, name) => localName(el) === name && namespaceURI(el) === HTML_NAMESPACE;

/** Resolves at the next frame, or after a while (ms) where no frames are drawn. @type {(wait?: number) => Promise<void>} */
const nextFrame = (wait = 100) =>
  new Promise((resolve) => {
    const timer = later(resolve, wait);
    frameOf(() => {
      clearLater(timer);
      resolve();
    });
  });
