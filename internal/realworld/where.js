// Where the browser is: address, scroll offset, and the fragment's target.
(() => {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name ? document.getElementById(name) || document.getElementsByName(name)[0] : null;
  const box = target ? target.getBoundingClientRect() : { top: 0, bottom: 0 };
  return {
    url: location.href, y: scrollY, height: innerHeight, full: document.scrollingElement.scrollHeight,
    found: target !== null, top: box.top, bottom: box.bottom, status: document.readyState,
  };
})()
