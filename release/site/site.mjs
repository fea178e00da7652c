// Opens every page of the website in every view, and searches: no message on the console, no
// request to another host, nothing found by axe, nothing wider than the page, and each search
// finds its page. Prints what is wrong.
//
//	node site.mjs FOLDER-OF-A-VERSION [REGEX-OF-PAGES]
import { createReadStream, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { browser, open, views } from "./open.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [dir, only = ""] = process.argv.slice(2);
const searches = {
  "freeze": "docs/reference.html",
  "how do I uninstall": "docs/install.html",
  "NodeNotBack": "docs/troubleshooting.html",
  "PodDisruptionBudget": "docs/checks.html",
  "maxUnavailable": "docs/api.html",
  "I have kured": "docs/migrate.html",
  "BYDAY": "docs/schedules.html",
};

// The search needs a web server.
const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };
const server = createServer((request, response) => {
  const file = join(dirname(dir), decodeURIComponent(new URL(request.url, "http://site").pathname));
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const site = new URL(`http://127.0.0.1:${server.address().port}/${basename(dir)}/`);

// look returns what axe finds on a page.
async function look(page, rules) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((runOnly) => axe.run({ exclude: [".md-version"] }, { resultTypes: ["violations"], preload: false, runOnly }), rules);
  return violations.map((v) => `axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" ")}`);
}

// wrong returns what is wrong with a page in a view.
async function wrong(chromium, file, view) {
  const { page, context, problems } = await open(chromium, new URL(file, site), views[view]);
  problems.push(...await look(page, view === "dark" ? ["color-contrast"] : undefined)); // all others see the same as in light
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) problems.push(`the page is ${wide} pixels too wide`);
  await context.close();
  return problems.map((p) => `${file}, ${view}: ${p}`);
}

// searching types on a page as a person does: with the keyboard alone, or on a phone.
async function searching(chromium, from, view) {
  const { page, context, problems } = await open(chromium, new URL(from, site), views[view]);
  const input = page.locator(".md-search__input"), close = page.locator(".md-search__icon[for=__search]");
  async function type(text) {
    if (view === "phone") {
      await page.locator(".md-header__button[for=__search]").tap();
      await input.tap();
    } else await page.keyboard.press("/");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
  }
  const found = () => page.evaluate(() => [...new Set([...document.querySelectorAll(".md-search-result__item > a")].map((a) => new URL(a.href).pathname))]);
  async function search(text, want, first = 5) {
    await type(text);
    let pages = [];
    for (let tries = 0; tries < 50 && !pages.some((p) => p.endsWith(want)); tries++) {
      await page.waitForTimeout(100);
      pages = (await found()).slice(0, first);
    }
    if (!pages.some((p) => p.endsWith(want))) problems.push(`searching ${text} finds ${pages.join(" ")}, want ${want}`);
  }
  for (const [text, want] of Object.entries(searches)) {
    await search(text, want);
    if (text === "freeze") problems.push(...(await look(page)).map((p) => p + " (with results)"));
    if (view === "phone") await close.tap();
    else await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.getElementById("__search").checked, null, { timeout: 5000 }).catch(() => problems.push("the search cannot be closed"));
  }
  await search("unfreeze", "docs/reference.html", 1);
  await page.waitForTimeout(500); // until the list is whole
  if (view === "phone") await page.locator(".md-search-result__link").first().tap();
  else for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.waitForURL((url) => !url.pathname.endsWith(from), { timeout: 15000 }).catch(() => problems.push("the first result does not open"));
  await context.close();
  return problems.map((p) => `${from}, ${view}: ${p}`);
}

const pages = readdirSync(dir, { recursive: true }).filter((file) => file.endsWith(".html")).sort();
if (pages.length < 20) throw new Error(`${dir} has only ${pages.length} pages`);
let problems = 0;
function report(found) {
  problems += found.length;
  for (const p of found) console.log(p);
}
await browser(async (chromium) => {
  for (const view of ["light", "phone"]) for (const from of ["index.html", "docs/api.html"]) report(await searching(chromium, from, view));
  for (const file of pages.filter((page) => new RegExp(only).test(page))) {
    for (const view of ["light", "dark", "phone"]) report(await wrong(chromium, file, view));
  }
});
console.log(`${pages.length} pages, ${problems} problems`);
process.exit(problems > 0 ? 1 : 0);
