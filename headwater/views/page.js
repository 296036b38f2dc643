"use strict";
// Each text begins where the kernel's lines do.
const toKernel = (views) => {
  for (const column of views.children) {
    const first = column.querySelector("code[data-l]");
    if (first) column.scrollTop = Math.max(0, first.offsetTop - column.offsetTop - 60);
  }
};
addEventListener("load", () => document.querySelectorAll(".views").forEach(toKernel));
for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("nav button, section.one")) other.classList.toggle("on", other.dataset.n === button.dataset.n);
    for (const views of document.querySelectorAll("section.one.on .views")) toKernel(views);
  });
}
// Lines of the three texts that belong together carry the same data-l (source) or data-v (what it was translated to).
for (const views of document.querySelectorAll(".views")) {
  const light = (line, key) => {
    const value = line.dataset[key];
    for (const other of views.querySelectorAll("code")) {
      const same = value !== undefined && other.dataset[key] === value;
      other.classList.toggle("on", same);
    }
    if (value === undefined) return;
    for (const column of views.children) {
      if (column.contains(line)) continue;
      const first = column.querySelector(`code[data-${key}="${CSS.escape(value)}"]`);
      if (first) column.scrollTo({ top: first.offsetTop - column.offsetTop - column.clientHeight / 3, behavior: "smooth" });
    }
  };
  views.addEventListener("mouseover", (event) => {
    const line = event.target.closest("code");
    if (!line) return;
    const value = line.dataset.l;
    for (const other of views.querySelectorAll("code")) other.classList.toggle("on", value !== undefined && other.dataset.l === value);
  });
  views.addEventListener("click", (event) => {
    const line = event.target.closest("code");
    if (line) light(line, "l");
  });
}
