// What the cases share: a real server with real ledgers, a browser, and what is read off a page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBrowser } from "./browser.mjs";
import { fill } from "./ledgers.mjs";
import { sleep, startServer } from "./server.mjs";

export async function withBrowser(body) {
  const browser = await openBrowser(["--host-resolver-rules=MAP ledger.test 127.0.0.1"]);
  try {
    await body(browser);
  } finally {
    await browser.close();
  }
}
export const withServer = ({ bin, page }, body, { flags, filled = true } = {}) => withBrowser(async (browser) => {
  const server = await startServer({ bin, page, flags });
  try {
    if (filled) await fill(server);
    await sleep(500);
    await body(server, browser);
  } finally {
    // An open stream holds up a server that ends.
    await Promise.all(browser.contexts().map((context) => context.close()));
    await server.stop();
  }
});
export async function withFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), "dpledger-e2e-"));
  try {
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
export const text = (tab) => tab.evaluate(() => document.body.innerText);
export const until = (tab, what, argument) => tab.waitForFunction(what, argument, { timeout: 60000 });
export const says = (tab, words) => until(tab, (wanted) => document.body.innerText.includes(wanted), words);
export const outcomes = (tab) => tab.evaluate(() => Object.fromEntries([...document.querySelectorAll("[data-check]")].map((row) => [row.dataset.check, row.dataset.outcome])));
export const checked = (tab) => until(tab, () => document.querySelectorAll("[data-check]").length === 7);
export const own = (asked, base) => assert.deepEqual(asked.filter((address) => !address.startsWith(base) && !address.startsWith("data:") && !address.startsWith("blob:")), []);
export const command = (bin, ...words) => execFileSync(join(bin, "dpledger"), words, { encoding: "utf8", stdio: "pipe" });
