// Sections that come as sentences and tables: of runs, what their comparison rests on.

// Names of sections in the bar, where their own says too little there.
const inTheBar = { holes: "Unjudged", next: "To judge" };

/** A table of texts. Numbers, also with an interval or a p-value, stand to the right. */
function plainTable({ title, columns, rows }) {
  const isNumber = (text) => /^[[+\-−<≤]*\s?\d[^\p{L}]*(, p [=<] [\d.]+)?$/u.test(text);
  const numbers = columns.map((_, i) =>
    rows.every((row) => row[i] === "" || isNumber(row[i])),
  );
  const style = (i) => (i && numbers[i] ? "number" : null);
  const table = el(
    "table",
    { class: "plain-table" },
    el("caption", {}, title),
    el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", { scope: "col", class: style(i) }, name)))),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el(
          "tr",
          {},
          row.map((text, i) =>
            i ? el("td", { class: style(i) }, text) : el("th", { scope: "row", class: text.length > 18 ? "long" : null }, text),
          ),
        ),
      ),
    ),
  );
  return scroller(title, table);
}

function plainSections() {
  for (const { name, title, lead, shown } of data.sections ?? []) {
    const note = lead ? [el("p", { class: "note" }, lead)] : [];
    const place = section(name, title, inTheBar[name] ?? capital(name), ...note);
    let list = null;
    for (const part of shown) {
      if (typeof part === "string") {
        if (!list) place.append((list = el("ul", { class: "sentences" })));
        list.append(el("li", {}, part));
      } else {
        list = null;
        place.append(plainTable(part));
      }
    }
  }
}
