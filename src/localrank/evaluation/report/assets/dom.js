// The data, the reader's choices, elements, and numbers as text.

const data = JSON.parse(document.getElementById("data").textContent);
const measures = data.measures ?? [];
const methods = data.methods ?? [];
// What is compared: methods, or runs.
const words = { method: "method", queries: "test queries", ...data.words };
const nouns = `${words.method}s`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const working = methods.filter((method) => !method.failed);
const others = working.filter((method) => method.name !== data.baseline);

/** 1 where larger values of a measure are better, -1 where smaller ones are. */
const direction = (measure) => ((data.smaller_is_better ?? []).includes(measure) ? -1 : 1);

// ---- The reader's choices. A view that depends on a choice watches it.

const judged = others.filter((method) => method.role !== "opponent");
const best = judged.sort(
  (a, b) => direction(measures[0]) * (b.means[measures[0]] - a.means[measures[0]]),
)[0];
const chosen = { measure: measures[0], method: best?.name, query: null };
const watchers = [];

function watch(keys, update) {
  watchers.push({ keys, update });
}

function choose(changes) {
  const changed = Object.keys(changes).filter((key) => chosen[key] !== changes[key]);
  Object.assign(chosen, changes);
  for (const { keys, update } of watchers) {
    if (keys.some((key) => changed.includes(key))) update();
  }
}

// ---- Elements. All text goes in as text nodes, never as HTML.

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => known(child) && child !== false));
  return element;
}

const el = (tag, attributes = {}, ...children) =>
  build(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** A section of the page, with its link in the bar. */
function section(id, title, short, ...children) {
  const heading = el("h2", { id: `${id}-title` }, title);
  const node = el("section", { id, "aria-labelledby": heading.id }, heading, ...children);
  document.getElementById("main").append(node);
  document.getElementById("contents").append(el("a", { href: `#${id}` }, short));
  return node;
}

/** A labelled choice among names. `key` names the choice. */
function chooser(label, key, names) {
  const select = el("select", { onchange: () => choose({ [key]: select.value }) });
  select.append(...names.map((name) => el("option", { value: name }, name)));
  select.value = chosen[key];
  watch([key], () => (select.value = chosen[key]));
  return el("label", {}, `${label} `, select);
}

/** Text behind a click. */
const folded = (title, ...children) =>
  el("details", { class: "folded" }, el("summary", {}, title), ...children);

/** A box that scrolls sideways by itself, by keyboard too. It says so where it is too narrow. */
function scroller(label, ...children) {
  const box = el(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": label },
    el("p", { class: "sideways", "aria-hidden": "true" }, "Scroll sideways for more columns →"),
    ...children,
  );
  // The right edge fades while there is more to see.
  const update = () => {
    box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 2);
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  };
  const observer = new ResizeObserver(update);
  observer.observe(box);
  children.forEach((child) => observer.observe(child));
  box.addEventListener("scroll", update, { passive: true });
  return box;
}

// ---- Names in a sentence.

/** A text that keeps its own direction, so that one from right to left does not move its
 * neighbours. */
const apart = (text) => (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);

/** The begin of a text that has room for n letters. */
const cut = (text, n) => (text.length > n ? `${text.slice(0, Math.max(n - 1, 1))}…` : text);

// ---- Numbers as text.

const missing = "–";
const minus = (text) => text.replace("-", "−");
const known = (number) => number !== null && number !== undefined;

const decimals = (number, digits = 4) => (known(number) ? minus(number.toFixed(digits)) : missing);

function signed(number, digits = 4) {
  if (!known(number)) return missing;
  const text = number.toFixed(digits);
  if (Number(text) === 0) return (0).toFixed(digits);
  return number > 0 ? `+${text}` : minus(text);
}

function pValue(p) {
  if (!known(p)) return missing;
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

/** Three significant digits, without an exponent. */
function short(number) {
  if (!known(number)) return missing;
  if (number === 0) return "0";
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(number)))));
  return minus(number.toLocaleString("en", { maximumFractionDigits: digits }));
}

function duration(seconds) {
  if (!known(seconds)) return missing;
  if (seconds < 1) return `${short(seconds * 1000)} ms`;
  if (seconds < 120) return `${short(seconds)} s`;
  return seconds < 7200 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

function bytes(size) {
  if (!known(size)) return missing;
  const power = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(size, 1)) / 3)));
  return `${short(size / 1000 ** power)} ${["B", "kB", "MB", "GB"][power]}`;
}

const count = (number, noun, plural = `${noun}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
const queriesText = (number) => count(number, "query", "queries");
