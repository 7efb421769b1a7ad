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
      // The choice then lasts as long as the page.
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
    methods.length && count(methods.length, "method"),
    data.baseline && `baseline ${data.baseline}`,
  ].filter(Boolean);
  document.getElementById("facts").textContent = parts.join(" · ");
}

measureSwitch();
themeSwitch();
factsLine();
if (methods.length) comparisonTable();
boundsTable();
queryDifferences();
calibrationPlots();
tuningPlots();
queryMap();
groupAgreement();
queryExplorer();
costPlots();
howMade();
