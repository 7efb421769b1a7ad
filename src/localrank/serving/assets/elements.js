// Makes elements, and writes numbers as text. Text becomes text nodes, never HTML.

const part = (id) => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function tell(id, message) {
  part(id).textContent = message ?? "";
  part(id).hidden = !message;
}

/** A box that scrolls sideways by itself. Its right edge fades if there is more to see. */
function scroller(label, child) {
  const box = el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label });
  const update = () =>
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  const observer = new ResizeObserver(update);
  [box, child].forEach((each) => observer.observe(each));
  box.addEventListener("scroll", update, { passive: true });
  box.append(child);
  return box;
}

const heading = (name, small, kind) =>
  el("th", { scope: "col", class: kind }, name, small ? el("small", {}, breakable(small)) : null);
const breakable = (name) => name.split(/(?<=\()/).flatMap((text) => [text, el("wbr")]);
const bar = (share) => el("span", { class: "share", "--share": share }, el("span"));

const count = (number, noun, plural = `${noun}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
const queries = (number) => count(number, "query", "queries");
const minus = (text) => text.replace("-", "−");

/** Four significant digits. */
const short = (number) => minus(Number(number.toPrecision(4)).toString());
const duration = (ms) =>
  ms < 1000 ? `${Number(ms.toPrecision(2))} ms` : `${(ms / 1000).toFixed(1)} s`;
