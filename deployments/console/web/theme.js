// The colours that were chosen by the switch, before anything is drawn; without a choice the system's hold.
try {
  const chosen = localStorage.getItem("sparring-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing follows the system.
}
