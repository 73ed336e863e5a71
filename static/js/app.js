// Comforts on top of pages that work without them: htmx manners, copying, counting, open menus, busy buttons.
"use strict";

// --- htmx ---------------------------------------------------------------

// A filter left empty says nothing, so it does not belong in the address.
function dropEmptyFields(request) {
  for (const [name, value] of [...request.body.entries()]) {
    if (value === "" && request.body.getAll(name).length === 1) request.body.delete(name);
  }
}

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  // Nobody looks at a hidden tab: what follows by itself waits until somebody does.
  if (document.hidden && ctx.sourceElement.matches("[data-live]")) event.preventDefault();
  if (ctx.request.method === "GET") {
    dropEmptyFields(ctx.request);
    return;
  }
  const token = document.querySelector("input[name=csrf_token]");
  if (token) ctx.request.headers["X-CSRFToken"] = token.value;
});

// An error answer is a whole page of its own: visit it instead of pasting it into this one.
document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
  if (ctx.request.method === "GET") location.assign(ctx.request.action);
});

// New rows took away the focused link: carry on reading at the results, and say how many there are.
document.addEventListener("htmx:after:settle", () => {
  const results = document.getElementById("results");
  if (!results) return;
  if (document.activeElement === document.body) results.focus({ preventScroll: true });
  const count = results.querySelector("[data-announce]");
  if (count) document.getElementById("announcer").textContent = count.textContent.trim();
});

// --- copying ------------------------------------------------------------

function showCopyButtons() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.firstChild;
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), 1500);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copy]");
  if (button && button.firstChild.textContent !== button.dataset.copied) copy(button);
});

// --- counting a note's characters ---------------------------------------

function showCount(field) {
  const line = document.querySelector(`[data-count-for="${field.id}"]`);
  if (!line) return;
  const length = [...field.value.replace(/\s+/gu, " ").trim()].length;
  const missing = Number(field.dataset.minimum) - length;
  line.hidden = length === 0;
  line.textContent =
    missing > 0 ? line.dataset.missing.replace("%n", missing) : line.dataset.enough.replace("%n", length);
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-minimum]")) showCount(target);
});

// --- menus --------------------------------------------------------------

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (menu !== except) menu.open = false;
  }
}

document.addEventListener("click", ({ target }) => closeMenus(target.closest("details[data-menu]")));

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest("details[data-menu][open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// --- sending ------------------------------------------------------------

// Only a look: the server answers a second submission with the result of the first.
document.addEventListener("submit", ({ target, submitter }) => {
  if (submitter && target.method === "post") submitter.setAttribute("aria-busy", "true");
});

// A page brought back by the browser's history is not sending anything.
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
});

// --- start --------------------------------------------------------------

showCopyButtons();
document.addEventListener("htmx:after:settle", showCopyButtons);
for (const field of document.querySelectorAll("[data-minimum]")) showCount(field);
document.getElementById("problems")?.focus();
