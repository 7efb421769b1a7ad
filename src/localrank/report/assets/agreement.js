// Groups beside categories that somebody knows, one table for each method and fold.

function agreementTable({ groups, categories, table }) {
  const most = Math.max(1, ...table.flat());
  const sums = table.map((row) => row.reduce((sum, n) => sum + n, 0));
  return el(
    "table",
    { class: "agreement" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Group"),
        categories.map((name) => el("th", { scope: "col", class: "number" }, name)),
        el("th", { scope: "col", class: "number" }, "All"),
      ),
    ),
    el(
      "tbody",
      {},
      groups.map((name, i) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          table[i].map((n) =>
            el(
              "td",
              { class: "number share", "--share": `${(n / most) * 100}%` },
              n.toLocaleString("en"),
            ),
          ),
          el("td", { class: "number" }, sums[i].toLocaleString("en")),
        ),
      ),
    ),
  );
}

function groupAgreement() {
  if (!data.agreements?.length) return;
  const names = data.agreements.map(
    ({ method, fold, adjusted_rand_index: index }) => `${method} · ${fold} · ${decimals(index, 3)}`,
  );
  const select = el(
    "select",
    {},
    names.map((name, i) => el("option", { value: String(i) }, name)),
  );
  const methodsShown = [...new Set(data.agreements.map(({ method }) => method))];
  const means = methodsShown.map((method) => {
    const own = data.agreements.filter((one) => one.method === method);
    const sum = own.reduce((total, one) => total + one.adjusted_rand_index, 0);
    return `${method} ${decimals(sum / own.length, 3)}`;
  });
  const place = section(
    "agreement",
    "Groups and known categories",
    "Categories",
    el(
      "p",
      { class: "note" },
      "How many test queries of each known category each group serves. The adjusted Rand index is 1 where groups " +
        "and categories are the same, and about 0 where they have nothing to do with each other. Each fold has " +
        "groups of its own.",
    ),
    el("p", { class: "summary" }, `Adjusted Rand index, mean of the folds: ${means.join(", ")}.`),
    names.length > 1
      ? el("div", { class: "controls" }, el("label", {}, "Method, fold and index ", select))
      : null,
  );
  const shown = scroller("Table of groups and categories");
  place.append(shown);
  const update = () =>
    shown.replaceChildren(agreementTable(data.agreements[Number(select.value) || 0]));
  select.addEventListener("change", update);
  update();
}
