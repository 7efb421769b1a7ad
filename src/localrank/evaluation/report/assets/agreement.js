// Groups beside known categories, one table for each method and fold.

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
    const folds = data.agreements.filter((agreement) => agreement.method === method);
    const sum = folds.reduce((total, fold) => total + fold.adjusted_rand_index, 0);
    return `${method} ${decimals(sum / folds.length, 3)}`;
  });
  const place = section(
    "agreement",
    "Groups and known categories",
    "Categories",
    el(
      "p",
      { class: "note" },
      "The number of test queries of each known category that each group serves. The adjusted Rand index is 1 if " +
        "groups and categories are the same partition, and about 0 if they are unrelated. Each fold makes its own groups.",
    ),
    el("p", { class: "summary" }, `Adjusted Rand index, mean of the folds: ${means.join(", ")}.`),
    names.length > 1
      ? el("div", { class: "controls" }, el("label", {}, "Method, fold and index ", select))
      : null,
  );
  const shown = el("div");
  place.append(scroller("Table of groups and categories", shown));
  const update = () =>
    shown.replaceChildren(agreementTable(data.agreements[Number(select.value) || 0]));
  select.addEventListener("change", update);
  update();
}
