/* Light, dark, or as the system; the choice is kept where the browser allows it. */
function theme() {
  const names = { auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };
  const set = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    byId("theme").textContent = names[name][0];
    byId("theme").setAttribute("aria-label", `Colours: ${names[name][1]}`);
    byId("theme").title = `Colours: ${names[name][1]}`;
    try { localStorage.setItem("quintet-theme", name); } catch { /* not kept, then */ }
    byId("theme").dataset.now = name;
  };
  let kept = "auto";
  try { kept = localStorage.getItem("quintet-theme") || "auto"; } catch { /* files may have no storage */ }
  set(kept in names ? kept : "auto");
  byId("theme").onclick = () => {
    const order = ["auto", "light", "dark"];
    set(order[(order.indexOf(byId("theme").dataset.now) + 1) % 3]);
  };
}
