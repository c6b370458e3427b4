// Explanations stay inside the window, and Escape hides them.
function place(event) {
  const term = event.target.closest?.(".term");
  const tip = term?.querySelector(".tip");
  if (!tip) return;
  tip.style.transform = "";
  tip.style.display = "";
  const box = tip.getBoundingClientRect();
  const beyond = box.right - (document.documentElement.clientWidth - 12);
  if (box.width && beyond > 0) tip.style.transform = `translateX(${-Math.min(beyond, box.left - 12)}px)`;
}
document.addEventListener("mouseover", place);
document.addEventListener("focusin", place);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const tip of document.querySelectorAll(".term:hover > .tip, .term:focus > .tip")) tip.style.display = "none";
});
