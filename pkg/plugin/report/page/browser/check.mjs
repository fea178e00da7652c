// Opens each report in every view: no message on the console, no request, nothing found by
// axe, nothing wider than the page, and opened in time. Prints a line of JSON for each.
//
//	node check.mjs FILE... [--open-only FILE...]
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { browser, open, views } from "./open.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Where other programs use the whole machine, the clock says little about a page.
const limits = { [loadavg()[0] > cpus().length ? "cpu" : "milliseconds"]: 2000, bytes: 5e6 };

// opening returns the shortest of several openings: other programs may use the machine, and
// the first is also Chromium's own start.
async function opening(chromium, file) {
  const times = [], cpu = [];
  for (let i = 0; i < 5; i++) {
    const one = await open(chromium, file, views.light);
    times.push(one.milliseconds);
    cpu.push(one.cpu);
    await one.context.close();
  }
  return { milliseconds: Math.round(Math.min(...times)), cpu: Math.round(Math.min(...cpu)) };
}

async function check(chromium, file, name) {
  const { page, context, problems } = await open(chromium, file, views[name]);
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations", "incomplete"] }));
  for (const v of found.violations) problems.push(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" ")}`);
  for (const v of found.incomplete.filter((v) => v.id !== "color-contrast")) problems.push(`axe cannot tell ${v.id}: ${v.nodes[0].html.slice(0, 160)}`);
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const closed = await wide();
  if (closed > 0) problems.push(`the page is ${closed} pixels too wide`);
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  const opened = await wide();
  if (opened > closed) problems.push(`with its details open, the page is ${opened} pixels too wide`);
  await context.close();
  return problems;
}

// zooming checks that the keyboard zooms the timeline.
async function zooming(chromium, file) {
  const { page, context } = await open(chromium, file, views.light);
  const width = () => page.evaluate(() => document.querySelector(".canvas").getBoundingClientRect().width);
  const before = await width();
  await page.locator("#z1").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const problems = (await width()) > 4 * before ? [] : ["the arrow keys do not zoom"];
  await context.close();
  return problems;
}

// A page of thousands of nodes is only opened: axe would read it for minutes, and finds the
// same in a smaller one.
let failed = false, openOnly = false;
await browser(async (chromium) => {
  for (const file of process.argv.slice(2)) {
    if (file === "--open-only") {
      openOnly = true;
      continue;
    }
    const result = { file: basename(file), bytes: statSync(file).size, ...(await opening(chromium, file)), problems: await zooming(chromium, file) };
    for (const limit in limits) if (result[limit] > limits[limit]) result.problems.push(`${result[limit]} ${limit}, want at most ${limits[limit]}`);
    for (const view in openOnly ? {} : views) result.problems.push(...(await check(chromium, file, view)).map((p) => `${view}: ${p}`));
    failed ||= result.problems.length > 0;
    console.log(JSON.stringify(result));
  }
});
process.exit(failed ? 1 : 0);
