"use strict";

const root = document.body.dataset.root;
const $ = (selector) => document.querySelector(selector);

// Theme: the system's, until the reader chooses the other one.
function toggleTheme() {
  const dark = document.documentElement.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const theme = dark === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.theme = theme; } catch (e) { /* a page from a disk may keep nothing */ }
}

// Contents: beside the text where there is room, else behind the button.
function toggleContents(open) {
  const shown = document.body.classList.toggle("contents", open);
  $("#menu").setAttribute("aria-expanded", shown);
  if (shown) $("#contents a[aria-current]")?.focus();
}

// Folded answers: all at once, and open on paper.
function toggleAnswers() {
  const all = [...document.querySelectorAll("details")];
  const open = all.some((d) => !d.open);
  for (const d of all) d.open = open;
}

// Search.
const dialog = $("#search");
const input = dialog.querySelector("input");
const results = dialog.querySelector("ol");
const hint = dialog.querySelector(".hint");
const keys = hint.textContent;

function openSearch() {
  dialog.showModal();
  input.focus();
  input.select();
}

// score is how well a section fits all words, 0 if it lacks one.
function score(section, words) {
  const title = (section.t + " " + section.h).toLowerCase();
  const text = section.x.toLowerCase();
  let total = 0;
  for (const word of words) {
    const hits = text.split(word).length - 1 + (title.includes(word) ? 20 : 0);
    if (hits === 0) return 0;
    total += Math.min(hits, 30);
  }
  return total;
}

// excerpt is the text around the first word, with all words marked.
function excerpt(section, words) {
  const text = section.x;
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
  const p = document.createElement("p");
  const part = (at > 0 ? "…" : "") + text.slice(at, at + 180) + (text.length > at + 180 ? "…" : "");
  const pattern = new RegExp("(" + words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "i");
  for (const [i, piece] of part.split(pattern).entries()) {
    const node = document.createElement(i % 2 ? "mark" : "span");
    node.textContent = piece;
    p.append(node);
  }
  return p;
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length === 0 ? [] : bookIndex
    .map((section) => ({ section, score: score(section, words) }))
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score);
  hint.textContent = words.length === 0 ? keys : hits.length + (hits.length === 1 ? " section" : " sections");
  results.replaceChildren(...hits.slice(0, 20).map(({ section }) => {
    const a = document.createElement("a");
    a.href = root + section.p;
    a.textContent = section.h === section.t ? section.t : section.t + " › " + section.h;
    a.addEventListener("click", () => dialog.close());
    const li = document.createElement("li");
    li.append(a, excerpt(section, words));
    return li;
  }));
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    results.querySelector("a")?.click();
  } else if (event.key === "Escape") {
    event.preventDefault(); // it would only empty the field
    dialog.close();
    input.blur(); // else it gets the keys until the next frame is drawn
  } else if (event.key === "ArrowDown") {
    event.preventDefault();
    results.querySelector("a")?.focus();
  }
});
results.addEventListener("keydown", (event) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!step) return;
  event.preventDefault();
  (document.activeElement.closest("li")?.[step]?.querySelector("a") || input).focus();
});

$("#theme").addEventListener("click", toggleTheme);
$("#menu").addEventListener("click", () => toggleContents());
$("#find").addEventListener("click", openSearch);
$("#contents").addEventListener("click", (event) => {
  if (event.target.closest("a")) toggleContents(false);
});

const actions = {
  "/": openSearch,
  t: toggleTheme,
  c: () => toggleContents(),
  o: toggleAnswers,
  ArrowLeft: () => $("#prev")?.click(),
  ArrowRight: () => $("#next")?.click(),
  Escape: () => toggleContents(false),
};

document.addEventListener("keydown", (event) => {
  const { target } = event;
  // A block of code that is wider than the page scrolls by the arrows.
  const scrolls = target.closest("pre, .scroll") && event.key.startsWith("Arrow");
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || scrolls || target.matches("input")) return;
  const action = actions[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details")) d.open = true;
});
