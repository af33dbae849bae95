// One project's ledgers as a view of their own: listed, counted, written to a file, kept by a name.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPage, settled } from "../browser.mjs";
import { command, onServer, own, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian } from "../ledgers.mjs";

const FILTER = "project = marketing";
const names = (tab) =>
  tab.evaluate(() =>
    [...document.querySelectorAll("table.lines td.main")].map((cell) => cell.innerText.trim()),
  );

export const cases = {
  "a project's ledgers are a view of their own, which is kept, shared and written to a file":
    onServer({ filled: false }, async ({ server, browser, bin, folder }) => {
      // Names in which the project's stands, too, are not in it.
      for (const [name, dataset] of [
        ["projects/marketing/ledgers/churn-1", "customers"],
        ["projects/marketing/ledgers/churn-2", "customers"],
        ["projects/marketing-2/ledgers/churn-3", "customers"],
        ["projects/default/ledgers/marketing", "marketing"],
      ]) {
        await create(server, name, declared(dataset, "customer", { planIndependent: true }));
        await append(server, name, [gaussian(3)]);
      }
      await server.call("LedgerService/CreateLedger", {
        name: "projects/marketing/ledgers/no-noise",
        requestId: "no-noise",
        declaration: declared("raw", "customer"),
      });
      await append(server, "projects/marketing/ledgers/no-noise", [
        { event: { mechanism: { nonPrivate: {} } } },
      ]);
      const mine = ["marketing/churn-1", "marketing/churn-2", "marketing/no-noise"];
      const { page: tab, trouble, asked } = await openPage(browser, { acceptDownloads: true });
      await tab.goto(`${server.base}/ledgers`);
      await until(tab, () => document.querySelector("table.lines tbody tr"));
      await tab.fill("#filter", FILTER);
      await tab.keyboard.press("Enter");
      await says(tab, "3 ledgers");
      assert.deepEqual(await names(tab), mine);
      assert.equal(new URL(tab.url()).searchParams.get("filter"), FILTER);
      const coming = tab.waitForEvent("download");
      await tab.click("main .actions >> text=CSV");
      await (await coming).saveAs(join(folder, "project.csv"));
      const lines = readFileSync(join(folder, "project.csv"), "utf8").trim().split("\n");
      assert.deepEqual(
        lines.slice(1).map((line) => line.split(",")[0]),
        mine.map((one) => `projects/${one.replace("/", "/ledgers/")}`),
      );
      // The address is the view, and the browser keeps it by a name.
      await tab.click("summary >> text=Views");
      await tab.fill(".menu-body input[maxlength]", "Marketing");
      await tab.keyboard.press("Enter");
      const address = tab.url();
      await tab.goto(`${server.base}/`);
      await until(tab, () => document.querySelector("table.lines tbody tr"));
      await tab.click("summary >> text=Views");
      await tab.click(".menu-body >> text=Marketing");
      await says(tab, "3 ledgers");
      assert.equal(tab.url(), address);
      assert.deepEqual(await names(tab), mine);
      // What is recorded in it stands in it; of another project nothing does.
      const added = "projects/marketing/ledgers/churn-4";
      await create(server, added, declared("customers", "customer", { planIndependent: true }));
      await create(server, "projects/other/ledgers/x", declared("customers", "customer"));
      await says(tab, "1 new");
      assert.deepEqual(await names(tab), mine);
      assert.doesNotMatch(await text(tab), /other\/x/);
      // Its part of what needs attention, which is the command line's.
      const at = ["--server", server.address, "--project", "marketing", "--json"];
      const { items } = JSON.parse(command(bin, "attention", ...at));
      assert.deepEqual(
        items.map(({ reason, ledger }) => [reason, ledger]),
        [["NO_BOUND", "projects/marketing/ledgers/no-noise"]],
      );
      assert.deepEqual(trouble, []);
      own(asked, server.base);
    }),

  "a project's view says whose it is, and is reached from its ledgers and by the search": onServer(
    { filled: false },
    async ({ server, browser }) => {
      for (const name of ["projects/marketing/ledgers/churn", "projects/default/ledgers/night"])
        await create(server, name, declared("customers", "customer", { planIndependent: true }));
      const { page: tab, trouble } = await openPage(browser);
      const title = () => tab.evaluate(() => document.querySelector(".title-words").innerText);
      await tab.goto(`${server.base}/ledgers`);
      await says(tab, "2 ledgers");
      assert.match(await title(), /^Ledgers\s+Every run recorded on this server/);
      await tab.click(".search-button");
      await tab.fill("dialog input", "market");
      await tab.click("dialog .found a >> text=/^marketing$/");
      await says(tab, "1 ledger");
      assert.match(await title(), /^Project marketing\s+Every run recorded in it,/);
      assert.equal(new URL(tab.url()).searchParams.get("filter"), FILTER);
      await tab.click("table.lines >> text=marketing/churn");
      await settled(tab);
      await tab.click(".trail >> text=marketing");
      await says(tab, "1 ledger");
      assert.equal(new URL(tab.url()).searchParams.get("filter"), FILTER);
      // A filter that asks for more is no project's view.
      await tab.fill("#filter", `${FILTER} AND size > 0`);
      await tab.keyboard.press("Enter");
      await until(tab, () => document.querySelector("h1").innerText === "Ledgers");
      assert.deepEqual(trouble, []);
    },
  ),
};
