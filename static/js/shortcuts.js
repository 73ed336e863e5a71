// Single-key extras: j and k walk the rows, x ticks one, / searches, ? lists them. Everything works without them.
"use strict";

const rows = () => [...document.querySelectorAll("tr[data-operation-id]")];

function current() {
  return document.activeElement.closest("tr[data-operation-id]") ?? document.querySelector("tr[data-current]");
}

function walk(step) {
  const all = rows();
  if (all.length === 0) return;
  const here = all.indexOf(current());
  const next = all[here < 0 ? 0 : Math.min(Math.max(here + step, 0), all.length - 1)];
  for (const row of all) row.toggleAttribute("data-current", row === next);
  next.querySelector("a[href]")?.focus();
}

function search() {
  const field = document.querySelector("[data-search]");
  field?.focus();
  field?.select();
}

const KEYS = {
  j: () => walk(1),
  k: () => walk(-1),
  x: () => current()?.querySelector("input[type=checkbox]")?.click(),
  "/": () => search(),
  "?": () => document.getElementById("shortcuts")?.showModal(),
};

const isTyping = (target) => target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (document.documentElement.dataset.shortcuts === "off") return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});
