// Opens every page of the website in every view, and searches: no message on the console, no
// request to another host, nothing found by axe, nothing wider than the page, and each search
// finds its page. Prints what is wrong.
//
//	node site.mjs FOLDER-OF-A-VERSION [REGEX-OF-PAGES]
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { browser, open, views } from "./open.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [dir, only = ""] = process.argv.slice(2);
const searches = {
  "freeze": "docs/commands.html",
  "how do I uninstall": "docs/install.html",
  "NodeNotBack": "docs/troubleshooting.html",
  "PodDisruptionBudget": "docs/checks.html",
  "maxUnavailable": "docs/api.html",
  "I have kured": "docs/migrate.html",
  "BYDAY": "docs/schedules.html",
};

// wrong returns what is wrong with a page in a view.
async function wrong(chromium, file, view) {
  const { page, context, problems } = await open(chromium, join(dir, file), views[view]);
  await page.evaluate(axe);
  const rules = view === "dark" ? ["color-contrast"] : undefined; // all others see the same as in light
  const { violations } = await page.evaluate((runOnly) => axe.run(document, { resultTypes: ["violations"], preload: false, runOnly }), rules);
  for (const v of violations) problems.push(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" ")}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) problems.push(`the page is ${wide} pixels too wide`);
  await context.close();
  return problems.map((p) => `${file}, ${view}: ${p}`);
}

// searching types on a page as a person does, with the keyboard alone.
async function searching(chromium, from, view) {
  const { page, context, problems } = await open(chromium, join(dir, from), views[view]);
  for (const [text, want] of Object.entries(searches)) {
    if (!(await page.evaluate(() => document.activeElement.id === "search"))) await page.keyboard.press("/");
    await page.keyboard.type(text);
    const links = page.locator("#search-results a");
    await links.first().waitFor({ timeout: 5000 }).catch(() => {});
    const found = await links.evaluateAll((all) => all.map((a) => a.href));
    if (!found.slice(0, 5).some((href) => href.includes(want))) problems.push(`searching ${text} finds ${found.slice(0, 5).join(" ")}, want ${want}`);
    await page.keyboard.press("Escape");
    if (await page.locator("#search-results").isVisible()) problems.push("Escape does not close the results");
  }
  await page.keyboard.type("xyzzy");
  await page.waitForFunction(() => document.getElementById("search-count").textContent === "Nothing found.", null, { timeout: 5000 }).catch(() => problems.push("a search without a result says nothing"));
  await page.keyboard.press("Escape");
  await page.keyboard.type("unfreeze");
  await page.locator("#search-results a").first().waitFor({ timeout: 5000 }).catch(() => problems.push("searching unfreeze finds nothing"));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"], preload: false }));
  for (const v of violations) problems.push(`axe ${v.id} with results: ${v.nodes[0].html.slice(0, 160)}`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.pathname.endsWith(from), { timeout: 5000 }).catch(() => problems.push("Tab and Enter do not open the first result"));
  await context.close();
  return problems.map((p) => `${from}, ${view}: ${p}`);
}

const pages = readdirSync(dir, { recursive: true }).filter((file) => file.endsWith(".html")).sort();
if (pages.length < 60) throw new Error(`${dir} has only ${pages.length} pages`);
let problems = 0;
function report(found) {
  problems += found.length;
  for (const p of found) console.log(p);
}
await browser(async (chromium) => {
  for (const view of ["light", "phone"]) for (const from of ["index.html", "docs/api.html"]) report(await searching(chromium, from, view));
  for (const file of pages.filter((page) => new RegExp(only).test(page))) {
    const text = /^(docs|lab|[A-Za-z]+\.html)/.test(file); // the others show a file as it is: they are alike
    for (const view of text ? ["light", "dark", "phone"] : ["phone"]) report(await wrong(chromium, file, view));
  }
});
console.log(`${pages.length} pages, ${problems} problems`);
process.exit(problems > 0 ? 1 : 0);
