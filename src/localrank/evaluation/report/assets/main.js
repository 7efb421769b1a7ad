// The page: its switches, then its sections in order.

function measureSwitch() {
  if (measures.length < 2) return;
  const select = document.getElementById("measure");
  select.append(...measures.map((name) => el("option", { value: name }, name)));
  select.addEventListener("change", () => choose({ measure: select.value }));
  document.getElementById("measure-label").hidden = false;
}

function themeSwitch() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("localrank-theme", root.dataset.theme);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}

function factsLine() {
  const about = data.made?.data;
  const parts = [
    about && queriesText(about.n_queries),
    about && count(about.n_documents, "document"),
    about && about.folds && count(about.folds, "fold"),
    methods.length && count(methods.length, words.method),
    data.baseline && `baseline ${apart(data.baseline)}`,
  ].filter(Boolean);
  document.getElementById("facts").textContent = parts.join(" · ");
}

/** Paper shows what is behind a click. */
function openForPrint() {
  const opened = [];
  addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("details:not([open])"));
    opened.forEach((node) => (node.open = true));
  });
  addEventListener("afterprint", () => opened.splice(0).forEach((node) => (node.open = false)));
}

measureSwitch();
themeSwitch();
factsLine();
// From the result to its reasons: methods, queries, groups, then diagnostics.
if (methods.length) comparisonTable();
costPlots();
queryDifferences();
queryExplorer();
queryMap();
groupAgreement();
plainSections();
boundsTable();
tuningPlots();
calibrationPlots();
howMade();
openForPrint();
