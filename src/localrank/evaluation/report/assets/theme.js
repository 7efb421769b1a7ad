// Runs before the page is drawn, so that the wrong theme does not flash.
(() => {
  const root = document.documentElement;
  let remembered = null;
  try {
    remembered = localStorage.getItem("localrank-theme");
  } catch {
    // Storage may be closed to pages opened from disk.
  }
  if (remembered === "light" || remembered === "dark") root.dataset.theme = remembered;
})();
