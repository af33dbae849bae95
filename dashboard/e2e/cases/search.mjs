// What the search finds beside names: projects, and ledgers by their root.
import assert from "node:assert/strict";
import { openPage, settled } from "../browser.mjs";
import { onServer, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian } from "../ledgers.mjs";

const NAME = "projects/marketing/ledgers/churn";
const hexOf = (base64) => Buffer.from(base64, "base64").toString("hex");
const ask = async (tab, words) => {
  await tab.click(".search-button");
  await tab.fill("dialog input", words);
};

export const cases = {
  "a root is found as the page and as the API have it; of other hashes it says what is not":
    onServer({ filled: false }, async ({ server, browser }) => {
      await create(server, NAME, declared("customers", "customer", { planIndependent: true }));
      await append(server, NAME, [gaussian(3)]);
      const { rootHash } = await server.call("LedgerService/GetLedger", { name: NAME });
      const { page: tab, trouble } = await openPage(browser);
      const root = hexOf(rootHash);
      for (const words of [root, root.toUpperCase(), `${root.slice(0, 32)}…`, rootHash]) {
        await tab.goto(`${server.base}/ledgers`);
        await settled(tab);
        await ask(tab, words);
        await says(tab, "Ledgers whose root this is");
        await tab.click("dialog .found a");
        await until(tab, () => location.pathname === "/ledger/marketing/churn");
      }
      // What the page shows of it is what is copied.
      await settled(tab);
      const shown = await tab.evaluate(() => document.querySelector("aside .hash").innerText);
      await ask(tab, shown);
      await says(tab, "Ledgers whose root this is");
      await tab.keyboard.press("Escape");
      // An entry's hash is looked for where it may be.
      await tab.click("[role=row] a >> text=1");
      await until(tab, () => /Leaf hash/.test(document.querySelector(".opened-entry")?.innerText));
      const leaf = await tab.getAttribute(".opened-entry .hash", "title");
      await tab.goto(`${server.base}/ledger/marketing/churn`);
      await settled(tab);
      await ask(tab, leaf);
      await says(tab, "the search knows the roots of ledgers as they are now");
      assert.match(
        await text(tab),
        /Nothing has this name\. Of callers, those who made ledgers are/,
      );
      await tab.click("dialog >> text=/among the entries of/");
      await until(tab, () => /Entry 1/.test(document.querySelector(".opened-entry")?.innerText));
      // The root of before is none of now.
      await append(server, NAME, [gaussian(4)]);
      await tab.goto(`${server.base}/ledgers`);
      await settled(tab);
      await ask(tab, root);
      await says(tab, "the search knows the roots of ledgers as they are now");
      assert.equal(await tab.locator("dialog >> text=/among the entries of/").count(), 0);
      assert.deepEqual(trouble, []);
    }),
};
