// What the cases share: a real server with real ledgers, a browser, and what is read off a page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBrowser } from "./browser.mjs";
import { fill } from "./ledgers.mjs";
import { folderWith, OTHERS } from "./others.mjs";
import { sleep, startServer } from "./server.mjs";

// One for all cases of a run, which share nothing in it: each opens contexts of its own.
let opened;
export async function closeBrowser() {
  await opened?.close();
}
// onBrowser(BODY): a case with a browser, and with a folder of its own.
export const onBrowser =
  (body) =>
  async ({ bin, page }) => {
    const folder = mkdtempSync(join(tmpdir(), "dpledger-e2e-"));
    if (!opened?.isConnected())
      opened = await openBrowser(["--host-resolver-rules=MAP ledger.test 127.0.0.1"]);
    try {
      await body({ browser: opened, folder, bin, page });
    } finally {
      await closeContexts(opened);
      rmSync(folder, { recursive: true, force: true });
    }
  };
const closeContexts = (browser) =>
  Promise.all(browser.contexts().map((context) => context.close().catch(() => undefined)));
// onServer([OPTIONS,] BODY): on a server too, with ledgers in it unless told, and beside them as
// many others as a run asks for (run.mjs).
export const onServer = (...given) => {
  const body = given.pop();
  const [{ flags, filled = true, others = OTHERS } = {}] = given;
  return onBrowser(async (at) => {
    const server = await startServer({ ...at, folder: await folderWith(others, at), flags });
    try {
      if (filled) await fill(server);
      await sleep(500);
      await body({ ...at, server, others });
    } finally {
      // An open stream holds up a server that ends. What a case failed by is not hidden by this.
      await closeContexts(at.browser);
      await server.stop();
    }
  });
};
// The list of ledgers that fit a filter, by its address.
export const listOf = (server, filter, more = {}) =>
  `${server.base}/ledgers?${new URLSearchParams({ filter, ...more })}`;
export const text = (tab) => tab.evaluate(() => document.body.innerText);
export const until = (tab, what, argument) =>
  tab.waitForFunction(what, argument, { timeout: 60000 });
export const says = (tab, words) =>
  until(tab, (wanted) => document.body.innerText.includes(wanted), words);
export const outcomes = (tab) =>
  tab.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("[data-check]")].map((row) => [
        row.dataset.check,
        row.dataset.outcome,
      ]),
    ),
  );
export const checked = (tab) =>
  until(tab, () => document.querySelectorAll("[data-check]").length === 8);
// Whether a page was built with the accountant.
export const recomputes = (page) => existsSync(join(page, "assets/accountant.wasm.gz"));
export const own = (asked, base) =>
  assert.deepEqual(
    asked.filter(
      (address) =>
        !address.startsWith(base) && !address.startsWith("data:") && !address.startsWith("blob:"),
    ),
    [],
  );
export const command = (bin, ...words) =>
  execFileSync(join(bin, "dpledger"), words, { encoding: "utf8", stdio: "pipe" });
