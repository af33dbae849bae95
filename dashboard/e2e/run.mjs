// End to end: node e2e/run.mjs BIN PAGE [NAME], in the folder that build.mjs made. 77 where there is no browser.
import { existsSync } from "node:fs";
import { found } from "./browser.mjs";

const [bin, page, only] = process.argv.slice(2);
if (!found) {
  console.log("skipped: there is no Chromium (Debian: apt-get install chromium)");
  process.exit(77);
}
if (!existsSync(`${page}/index.html`)) {
  console.log(`skipped: the page was not built (${page})`);
  process.exit(77);
}
const { cases } = await import("./cases.mjs");
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue;
  const start = Date.now();
  try {
    await run({ bin, page });
    console.log(`ok ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
