// Takes the pictures of docs/commands.md.
//
//	node pictures.mjs FOLDER-OF-REPORTS FOLDER-OF-PICTURES
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { browser, open, views } from "./open.mjs";

const [from, to] = process.argv.slice(2);
const pictures = [
  { name: "report-light", file: "ended.html", view: views.light },
];

mkdirSync(to, { recursive: true });
await browser(async (chromium) => {
  for (const { name, file, view } of pictures) {
    const { page, context } = await open(chromium, join(from, file), view);
    if (view.media) await page.evaluate(() => { document.documentElement.style.padding = "1.5rem"; }); // the margins of paper
    const path = join(to, name + ".png");
    await page.screenshot({ path, scale: view.isMobile ? "device" : "css" });
    await context.close();
    if (statSync(path).size > 200_000) throw new Error(`${path} has ${statSync(path).size} bytes`);
    console.log(path, statSync(path).size);
  }
});
