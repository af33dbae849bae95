// End to end: node e2e/run.mjs BIN PAGE [FILE [NAME]], in the folder that build.mjs made. 77 where
// there is no browser.
//   FILE  one of e2e/cases, without its .mjs; all of them unless told
//   NAME  a part of the names of the cases to run
// With DPLEDGER_E2E_OTHERS=10000 the server of every case has as many other ledgers beside its own.
import { existsSync, readdirSync } from "node:fs";
import { found, isFirefox } from "./browser.mjs";
import { closeBrowser } from "./case.mjs";

const [bin, page, file, only] = process.argv.slice(2);
if (!found) {
  const name = isFirefox ? "firefox-esr" : "chromium";
  console.log(`skipped: the browser is not there (Debian: apt-get install ${name})`);
  process.exit(77);
}
if (!existsSync(`${page}/index.html`)) {
  console.log(`skipped: the page was not built (${page})`);
  process.exit(77);
}
const files = file ? [`${file}.mjs`] : readdirSync(new URL("cases", import.meta.url)).sort();
let [run, failed] = [0, 0];
for (const one of files) {
  const { cases } = await import(`./cases/${one}`);
  for (const [name, body] of Object.entries(cases)) {
    if (only && !name.includes(only)) continue;
    const start = Date.now();
    run++;
    try {
      await body({ bin, page });
      console.log(`ok ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${name}: ${error.stack}`);
    }
  }
}
await closeBrowser();
if (!run) console.log("no case has such a name");
process.exit(failed || !run ? 1 : 0);
