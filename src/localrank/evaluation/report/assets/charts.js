// Drawing: colours and shapes, scales, axes, the tooltip, line charts.

// ---- Colours and shapes. A method looks alike in every plot.

const nColours = 7;
const colour = (index) => {
  const place = (index % nColours) + 1;
  return `var(--mark-${place}, var(--series-${place}))`;
};

const plus = [
  [0.85, 0],
  [0, -0.85],
  [0.8, 0],
  [0, 0.85],
  [0.85, 0],
  [0, 0.8],
  [-0.85, 0],
  [0, 0.85],
  [-0.8, 0],
  [0, -0.85],
  [-0.85, 0],
];

/** Outline of a mark around (x, y); shapes tell apart what shares a colour. */
const shapes = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
  (x, y, r) => `M${x} ${y - 1.2 * r}l${1.1 * r} ${2 * r}h${-2.2 * r}Z`,
  (x, y, r) =>
    `M${x} ${y - 1.3 * r}l${1.3 * r} ${1.3 * r}l${-1.3 * r} ${1.3 * r}l${-1.3 * r} ${-1.3 * r}Z`,
  (x, y, r) => `M${x} ${y + 1.2 * r}l${1.1 * r} ${-2 * r}h${-2.2 * r}Z`,
  (x, y, r) =>
    `M${x - 1.25 * r} ${y - 0.4 * r}${plus.map(([dx, dy]) => `l${dx * r} ${dy * r}`).join("")}Z`,
];

/** Colour and shape of the index-th of several things. There is one colour more than there are
 * shapes, so that 42 things differ in one or the other. */
const look = (index) => ({ colour: colour(index), shape: shapes[index % shapes.length] });

const methodLooks = new Map(others.map((method, index) => [method.name, look(index)]));
methodLooks.set(data.baseline, { colour: "var(--ink)", shape: shapes[0] });

/** A small drawing of a mark, for legends and tables. */
const swatch = ({ colour, shape }) =>
  svg(
    "svg",
    { class: "swatch", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
    svg("path", { class: "mark", "--c": colour, d: shape(6, 6, 4.4) }),
  );

// ---- Scales and ticks.

function scale([low, high], [start, end], transform = (value) => value) {
  const from = transform(low);
  const span = transform(high) - from || 1;
  return (value) => start + ((transform(value) - from) / span) * (end - start);
}

/** About n round numbers between low and high. */
function roundTicks(low, high, n) {
  const rough = (high - low) / Math.max(n, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((multiple) => multiple * power >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    ticks.push({
      value: i * step,
      text: decimals(i * step, digits).replace(/^−(0(\.0*)?)$/, "$1"),
    });
  }
  return ticks;
}

/** Powers of ten between low and high; if they are few, also 2 and 5 times them. */
function logTicks(low, high, format, n) {
  const between = (factors) => {
    const values = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      values.push(...factors.map((factor) => factor * 10 ** power));
    }
    return values.filter((value) => value >= low && value <= high);
  };
  const fine = between([1, 2, 5]);
  let values = fine.length <= n ? fine : between([1]);
  if (values.length < 2) values = fine;
  const skip = Math.ceil(values.length / n);
  return values.filter((_, i) => i % skip === 0).map((value) => ({ value, text: format(value) }));
}

/** low and high with a margin on both sides. */
function padded(values, share = 0.06) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || Math.abs(high) || 1) * share;
  return [low - margin, high + margin];
}

// ---- A chart fills its box and is drawn anew when the box changes width.

function chart(parent, label, draw) {
  const host = el("div", { class: "chart" });
  parent.append(host);
  let width = 0;
  const redraw = () => {
    width = host.clientWidth;
    if (!width) return;
    const { height, marks } = draw(width, host);
    const attributes = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
    host.replaceChildren(svg("svg", attributes, ...marks));
  };
  const observer = new ResizeObserver(() => {
    if (host.clientWidth !== width) requestAnimationFrame(redraw);
  });
  redraw();
  observer.observe(host);
  return { host, redraw };
}

/** Grid lines, tick texts and titles. `box` holds the plot's left, right, top and bottom. */
function axes(box, x, xTicks, xTitle, y, yTicks, yTitle) {
  const { left, right, top, bottom } = box;
  return svg(
    "g",
    { class: "axes" },
    yTicks.map(({ value, text }) => [
      svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value), dy: "0.35em", "text-anchor": "end" }, text),
    ]),
    xTicks.map(({ value, text }) => [
      svg("line", { class: "tick", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
      svg("text", { x: x(value), y: bottom + 17, "text-anchor": "middle" }, text),
    ]),
    xTicks.length
      ? svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom })
      : null,
    yTitle && svg("text", { class: "title", x: left, y: top - 9 }, yTitle),
    xTitle &&
      svg("text", { class: "title", x: right, y: bottom + 34, "text-anchor": "end" }, xTitle),
  );
}

// ---- The tooltip: one for all plots, kept inside the window.

const tooltip = document.getElementById("tooltip");

function showTooltip(clientX, clientY, ...children) {
  tooltip.replaceChildren(...children);
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const edge = document.documentElement.clientWidth - width - 8;
  tooltip.style.left = `${Math.max(8, Math.min(edge, clientX + 14))}px`;
  const above = clientY - height - 14;
  tooltip.style.top = `${above > 8 ? above : clientY + 18}px`;
}

const hideTooltip = () => (tooltip.hidden = true);
addEventListener("scroll", hideTooltip, { passive: true });
addEventListener("keydown", (event) => event.key === "Escape" && hideTooltip());

/** The place of the pointer, in the drawing's coordinates. */
function position(host, event) {
  const drawing = host.querySelector("svg");
  const box = drawing.getBoundingClientRect();
  const factor = drawing.viewBox.baseVal.width / box.width;
  return [(event.clientX - box.left) * factor, (event.clientY - box.top) * factor];
}

/** Call `point(x, y, event)` as the pointer moves or taps; it returns the tooltip or nothing. */
function track(host, point, leave = () => {}) {
  const move = (event) => {
    const children = point(...position(host, event), event);
    if (children) showTooltip(event.clientX, event.clientY, ...children);
    else hideTooltip();
  };
  host.addEventListener("pointermove", move);
  host.addEventListener("pointerdown", move);
  host.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return; // a tap's tooltip stays until the page scrolls
    hideTooltip();
    leave();
  });
}

/** Index of the point nearest to (x, y), if it is within reach. */
function nearest(points, x, y, reach) {
  let best = -1;
  let least = reach * reach;
  points.forEach(([px, py], index) => {
    const distance = (px - x) ** 2 + (py - y) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

/** Rows of name and value for a tooltip. */
const factList = (title, facts) => [
  el("strong", {}, title),
  el(
    "dl",
    {},
    facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  ),
];

// ---- Lines over levels, with intervals, and a histogram of the queries below.

/**
 * levels: [{value, text, n}], evenly spaced in the order given.
 * series: [{name, colour, shape, dash, strong, points: Map(level value -> {mean, low, high})}].
 */
function lineChart(parent, label, { levels, xTitle, yTitle, series }) {
  const counted = levels.some((level) => known(level.n));
  return chart(parent, label, (width, host) => {
    const visible = series().filter((line) => !line.hidden);
    const box = { left: 44, right: width - 12, top: 26, bottom: 250 };
    const height = box.bottom + (counted ? 100 : 44);
    const points = visible.flatMap((line) => [...line.points.values()]);
    const means = points.map((point) => point.mean);
    const bounds = padded(
      points
        .flatMap(({ mean, low, high }) => [mean, low ?? mean, high ?? mean])
        .concat(means.length ? [] : [0, 1]),
    );
    // Intervals of a few queries may leave the range of the measure; the plot does not follow.
    const range = [
      Math.max(bounds[0], Math.min(0, ...means)),
      Math.min(bounds[1], Math.max(1, ...means)),
    ];
    const step = (box.right - box.left) / levels.length;
    const at = new Map(levels.map(({ value }, i) => [value, box.left + (i + 0.5) * step]));
    const x = (value) => at.get(value);
    const y = scale(range, [box.bottom, box.top]);
    const inside = (value) => Math.max(box.top, Math.min(box.bottom, y(value)));
    const every = Math.ceil(34 / step);
    const middle = levels.findIndex(({ value }) => value === 0);
    const shown = levels.filter((_, i) => (i - Math.max(middle, 0)) % every === 0);
    const dodge = Math.min(4, (step * 0.4) / Math.max(visible.length, 1));

    const lines = visible.map((line, index) => {
      const shift = (index - (visible.length - 1) / 2) * dodge;
      const at = [...line.points].map(([level, point]) => ({ px: x(level) + shift, ...point }));
      return svg(
        "g",
        {
          class: `line${line.strong ? " strong" : ""}`,
          "--c": line.colour,
          "data-name": line.name,
        },
        svg("path", {
          class: "interval",
          d: at
            .filter(({ low }) => known(low))
            .map(({ px, low, high }) => `M${px} ${inside(low)}V${inside(high)}`)
            .join(""),
        }),
        svg("path", {
          class: "stroke",
          "stroke-dasharray": line.dash,
          d: `M${at.map(({ px, mean }) => `${px} ${y(mean)}`).join("L")}`,
        }),
        svg("path", {
          class: "mark",
          d: at.map(({ px, mean }) => line.shape(px, y(mean), 3.6)).join(""),
        }),
      );
    });

    const most = Math.max(1, ...levels.map(({ n }) => n ?? 0));
    const histogram = counted
      ? svg(
          "g",
          { class: "counts" },
          levels.map(({ value, n }) => {
            const tall = n ? Math.max(1, (n / most) * 26) : 0;
            const wide = Math.min(step * 0.7, 26);
            return [
              svg("rect", {
                x: x(value) - wide / 2,
                y: height - 4 - tall,
                width: wide,
                height: tall,
              }),
              n > 0 &&
                step >= 22 &&
                svg(
                  "text",
                  { x: x(value), y: height - 8 - tall, "text-anchor": "middle" },
                  n.toLocaleString("en"),
                ),
            ];
          }),
          svg("text", { class: "title", x: 0, y: height - 5 }, "queries"),
        )
      : null;

    const cursor = svg("line", {
      class: "cursor",
      y1: box.top,
      y2: box.bottom,
      visibility: "hidden",
    });
    host.onLevel = (px) => {
      const index = Math.floor((px - box.left) / step);
      if (index < 0 || index >= levels.length) return null;
      const { value, text, n } = levels[index];
      cursor.setAttribute("x1", x(value));
      cursor.setAttribute("x2", x(value));
      cursor.setAttribute("visibility", "visible");
      const facts = visible
        .filter((line) => line.points.has(value))
        .map((line) => ({ line, point: line.points.get(value) }))
        .sort((a, b) => b.point.mean - a.point.mean)
        .map(({ line, point: { mean, low, high } }) => [
          el("span", {}, swatch(line), ` ${line.name}`),
          known(low)
            ? `${decimals(mean, 3)} [${decimals(low, 3)}, ${decimals(high, 3)}]`
            : decimals(mean, 3),
        ]);
      return factList(`${xTitle} ${text}${known(n) ? ` · ${queriesText(n)}` : ""}`, facts);
    };
    host.offLevel = () => cursor.setAttribute("visibility", "hidden");
    if (!host.tracked)
      track(
        host,
        (px) => host.onLevel(px),
        () => host.offLevel(),
      );
    host.tracked = true;
    const yTicks = roundTicks(...range, 5);
    const zero =
      middle > 0
        ? svg("line", { class: "zero", x1: x(0), x2: x(0), y1: box.top, y2: box.bottom })
        : null;
    return {
      height,
      marks: [
        axes(box, x, shown, xTitle, y, yTicks, yTitle),
        zero,
        cursor,
        histogram,
        ...lines,
      ].filter(Boolean),
    };
  });
}

/** Names of lines, each a button that hides its line and shows it again. */
function legend(parent, series, redraw) {
  const sample = (line) =>
    svg(
      "svg",
      {
        class: "sample",
        viewBox: "0 0 28 12",
        width: 28,
        height: 12,
        "aria-hidden": "true",
        "--c": line.colour,
      },
      svg("path", { class: "stroke", "stroke-dasharray": line.dash, d: "M1 6H27" }),
      svg("path", { class: "mark", d: line.shape(14, 6, 3.6) }),
    );
  parent.append(
    el(
      "div",
      { class: "legend", role: "group", "aria-label": "Lines shown" },
      series.map((line) => {
        const button = el(
          "button",
          { type: "button", "aria-pressed": String(!line.hidden) },
          sample(line),
          line.name,
        );
        button.addEventListener("click", () => {
          line.hidden = !line.hidden;
          button.setAttribute("aria-pressed", String(!line.hidden));
          redraw();
        });
        return button;
      }),
    ),
  );
}
