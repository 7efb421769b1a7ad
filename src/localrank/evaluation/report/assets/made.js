// How the comparison was made.

function labelShares(labels) {
  const total = Object.values(labels).reduce((sum, number) => sum + number, 0) || 1;
  return el(
    "ul",
    { class: "inline" },
    Object.entries(labels).map(([label, number]) =>
      el(
        "li",
        {},
        `${isNaN(label) ? "" : "label "}${label}: ${number.toLocaleString("en")} (${((100 * number) / total).toFixed(1)} %)`,
      ),
    ),
  );
}

function howMade() {
  const { made } = data;
  if (!made || !Object.keys(made).length) return;
  const facts = [];
  const add = (name, value) => known(value) && facts.push(el("dt", {}, name), el("dd", {}, value));
  const about = made.data;
  add("Command", made.command && el("code", { class: "command" }, made.command));
  add("Seed", known(made.seed) ? String(made.seed) : null);
  add(
    "Made",
    made.time && `${made.time}${known(made.seconds) ? `, in ${duration(made.seconds)}` : ""}`,
  );
  if (about) {
    add(
      "Data",
      [
        queriesText(about.n_queries),
        count(about.n_documents, "document"),
        known(about.n_features) && count(about.n_features, "feature"),
        about.folds && count(about.folds, "fold"),
      ]
        .filter(Boolean)
        .join(", "),
    );
    add("Labels", about.labels && labelShares(about.labels));
    add("SHA-256", about.sha256 && el("code", {}, about.sha256));
  }
  add(
    "Versions",
    made.versions &&
      el(
        "ul",
        { class: "inline" },
        Object.entries(made.versions).map(([name, version]) => el("li", {}, `${name} ${version}`)),
      ),
  );
  section("made", "How this report was made", "About", el("dl", { class: "made" }, facts));
}
