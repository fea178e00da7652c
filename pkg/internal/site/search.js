// Searches all pages, in the reader's browser.
"use strict";
const up = document.documentElement.dataset.up;
const field = document.getElementById("search");
const results = document.getElementById("search-results");
const count = document.getElementById("search-count");
const shown = 12;
// words of questions that say nothing about what is looked for
const common = new Set("a an and are be can do does for from how i in is it my of on or our the to what when which why with".split(" "));

// load loads what is searched, once a reader begins to search.
let loading;
function load() {
  return loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = up + "index.js";
    script.onload = () => resolve(searchIndex.map((entry) => ({ ...entry, head: lower(entry.h || entry.t), title: lower(entry.t), body: lower(entry.x || "") })));
    script.onerror = reject;
    document.head.append(script);
  });
}

function lower(text) { return text.toLowerCase(); }

// starts counts the words of a text that begin with the word.
function starts(text, word) {
  let n = 0;
  for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) if (i === 0 || !/[\p{L}\p{N}]/u.test(text[i - 1])) n++;
  return n;
}

// score says how well an entry matches: first by how many of the words it has, then by where.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const here = 8 * Math.min(1, starts(entry.head, word)) + 4 * Math.min(1, starts(entry.title, word)) + Math.min(3, starts(entry.body, word));
    if (here > 0) sum += 100 + here;
  }
  return sum;
}

function search(entries, text) {
  const all = lower(text).split(/[^\p{L}\p{N}_.-]+/u).filter(Boolean);
  const words = all.filter((word) => !common.has(word));
  if (words.length === 0) return { words, found: [] };
  const found = entries.map((entry) => ({ entry, score: score(entry, words) })).filter((f) => f.score > 0).sort((a, b) => b.score - a.score);
  const best = found.length > 0 ? Math.floor(found[0].score / 100) : 0;
  return { words, found: found.filter((f) => Math.floor(f.score / 100) === best).map((f) => f.entry) };
}

// marked adds a text to an element, with the words marked.
function marked(element, text, words) {
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  for (const part of text.split(pattern)) {
    if (!words.includes(lower(part))) { element.append(part); continue; }
    const mark = document.createElement("mark");
    mark.textContent = part;
    element.append(mark);
  }
}

// excerpt returns the part of a text in which a word is.
function excerpt(entry, words) {
  const at = Math.max(0, Math.min(...words.map((w) => entry.body.indexOf(w)).filter((i) => i >= 0), entry.body.length));
  const from = at === entry.body.length ? 0 : Math.max(0, at - 50);
  return (from > 0 ? "… " : "") + (entry.x || "").slice(from, from + 150);
}

function show({ words, found }) {
  results.replaceChildren(...found.slice(0, shown).map((entry) => {
    const item = document.createElement("li"), link = document.createElement("a"), title = document.createElement("span"), text = document.createElement("small");
    link.href = up + entry.u;
    marked(title, entry.h ? `${entry.t}: ${entry.h}` : entry.t, words);
    marked(text, excerpt(entry, words), words);
    link.append(title, text);
    item.append(link);
    return item;
  }));
  results.hidden = found.length === 0;
  count.textContent = words.length === 0 ? "" : found.length === 0 ? "Nothing found." : found.length > shown ? `The first ${shown} of ${found.length}` : `${found.length} found`;
}

field.addEventListener("focus", load);
field.addEventListener("input", async () => show(search(await load(), field.value)));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape") {
    field.value = "";
    show({ words: [], found: [] });
  }
});
