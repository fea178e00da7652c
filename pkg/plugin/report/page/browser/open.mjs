// Opening reports in Debian's Chromium.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const views = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  tablet: { viewport: { width: 820, height: 1180 }, colorScheme: "dark" },
  print: { viewport: { width: 718, height: 1000 }, colorScheme: "light", media: "print" },
};

// browser runs f with a Chromium that has a profile of its own and no network.
export async function browser(f) {
  const profile = mkdtempSync(join(tmpdir(), "report-"));
  const running = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    return await f(running.browser() ?? running);
  } finally {
    await running.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

// open opens a file, or the URL of a local server, and returns the page, what it complained about, and how long it took
// until everything was drawn: by the clock, and on the processor by the page's thread.
export async function open(chromium, file, view) {
  const { media, ...options } = view;
  const context = await chromium.newContext(options);
  const page = await context.newPage();
  const url = file instanceof URL ? file : pathToFileURL(file);
  const own = url.protocol === "file:" ? "file:" : url.origin + "/";
  const problems = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) problems.push(m.text()); });
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", (r) => { if (!r.url().startsWith(own) && !r.url().startsWith("data:")) problems.push("requests " + r.url()); });
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const began = performance.now();
  await page.goto(url.href, { waitUntil: "load" });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
  const milliseconds = performance.now() - began;
  if (media) await page.emulateMedia({ media }); // before goto it would be lost
  const { metrics } = await session.send("Performance.getMetrics");
  return { page, context, problems, milliseconds, cpu: 1000 * metrics.find((m) => m.name === "TaskDuration").value };
}
