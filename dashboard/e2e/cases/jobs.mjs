// What an auditor comes for, on an organisation's ledgers, alone and among ten thousand others.
// (Who exported a ledger is asked in identity.mjs.)
import assert from "node:assert/strict";
import { openPage } from "../browser.mjs";
import { checked, onServer, outcomes, says, text, until } from "../case.mjs";
import { organise } from "../organisation.mjs";

const rows = (tab, count) =>
  until(tab, (count) => document.querySelectorAll("table.lines tbody tr").length === count, count);
const costs = (tab, count) =>
  until(tab, (count) => document.querySelectorAll("main .epsilon").length >= count, count);
// Each begins on the first view, by clicks and keys alone.
const JOBS = {
  "which runs touched a data set, and what do they cost together?": async ({ tab }) => {
    await tab.click("table.lines >> text=crm-customers");
    await says(tab, "12 runs on this server");
    await costs(tab, 1);
    await says(tab, "All 12 runs together");
    await rows(tab, 12);
  },
  "is the record whole?": async ({ tab }) => {
    await tab.click("table.lines >> text=crm-customers");
    await tab.click("table.lines >> text=churn-2025-07");
    await tab.click(".title >> text=Verify");
    await checked(tab);
    const found = Object.values(await outcomes(tab));
    assert.ok(found.includes("held") && !found.includes("failed"), found.join());
  },
  "what may be told to the regulator, at the regulator's δ?": async ({ tab }) => {
    await tab.click("table.lines >> text=clinic-readmissions");
    await costs(tab, 1);
    await tab.fill(".ask input >> nth=0", "1e-7");
    await tab.keyboard.press("Enter");
    await tab.click(".title >> text=Statement");
    await says(tab, "which of two values a record has");
    await says(tab, "1e-7");
    await tab.waitForSelector(".title .actions >> text=Issue…");
  },
  "what does today's accountant say of all runs of 2025?": async ({ tab }) => {
    await tab.click("nav.views >> text=Recompute");
    await tab.fill("#asked", 'name:"-2025-"');
    await says(tab, "marketing/churn-2025-08 and 4 others.");
    assert.ok(!/readmission/.test(await text(tab)), "it names those that fit alone");
    await tab.click("button[type=submit]");
    await until(tab, () => /^\/recompute\/.+/.test(location.pathname));
    await says(tab, "12 of 12");
  },
  "which run needs somebody today?": async ({ tab }) => {
    await says(tab, "ads/raw-dump: epsilon has no bound");
    const [first] = await tab.evaluate(() =>
      [...document.querySelectorAll("main .notice strong")].map((one) => one.innerText),
    );
    assert.match(first, /ads\/raw-dump: epsilon has no bound/);
    await tab.click("main >> text=/Show [0-9]+ more/");
    for (const of of [
      "adult-night: writer trainer was opened again",
      "risk/report: 1 correction",
      "adult-workers: sealed while 2 writers had not closed",
      "ads/ctr-4: delta does not fit the data",
      "MNIST and mnist and mnist⟨U+0020⟩: names that look alike",
    ])
      await says(tab, of);
  },
  "how much of a budget is left?": async ({ tab }) => {
    const row = await tab.innerText("table.lines tr:has-text('visits')");
    assert.match(row, /1 open, 1 budget/); // as its view: a budget is no run
    await tab.click("table.lines >> text=visits");
    await says(tab, "of 8.000 is granted");
    await says(tab, "1 run on this server");
    await says(tab, "visits-run");
  },
  "what differs between three runs?": async ({ tab }) => {
    await tab.click("nav.views >> text=Ledgers");
    await tab.fill("#filter", "dataset = crm-customers");
    await tab.keyboard.press("Enter");
    await rows(tab, 12);
    for (const at of [0, 1, 2]) await tab.click(`table.lines input[type=checkbox] >> nth=${at}`);
    await tab.click("main .actions >> text=Compare");
    await until(tab, () => /ε ≤/.test(document.querySelector("dialog[open]")?.innerText));
    const compared = await tab.evaluate(() => document.querySelector("dialog[open]").innerText);
    for (const month of ["01", "02", "03"])
      assert.ok(compared.includes(`churn-2025-${month}`), compared);
    // Each has its line, and no row lies behind a scroll bar.
    await until(tab, () => document.querySelectorAll("dialog .legend li").length === 3);
    await until(tab, () => document.querySelectorAll("dialog .chart path.line").length === 3);
    const drawn = await tab.evaluate(() => {
      const lines = [...document.querySelectorAll("dialog .chart path.line")].map(getComputedStyle);
      const box = document.querySelector("dialog .scroll-box");
      return {
        looks: new Set(lines.map((one) => `${one.stroke} ${one.strokeDasharray}`)).size,
        hidden: box.scrollHeight - box.clientHeight,
      };
    });
    assert.equal(drawn.looks, 3);
    assert.ok(drawn.hidden <= 0, drawn.hidden);
  },
  "what noise keeps the next run to a total of 3?": async ({ tab }) => {
    await tab.click("nav.views >> text=Ledgers");
    await tab.click("main .actions >> text=Plan a run");
    await until(tab, () => document.querySelector("dialog .plan-form"));
    const fill = (label, value) =>
      tab.locator("dialog label.field", { hasText: label }).locator("input").fill(value);
    await fill("Target", "3");
    await fill("Data set", "crm-customers");
    await tab.click("dialog button[type=submit]");
    await until(tab, () => document.querySelectorAll("dialog .epsilon").length === 4);
    assert.match(await text(tab), /noise multiplier [\d.]+/i);
  },
};

const onOrganisation = (more) =>
  onServer({ filled: false, ...more }, async ({ server, browser, others }) => {
    const own = await organise(server);
    const { page: tab, trouble } = await openPage(browser);
    await tab.goto(server.base);
    for (const [job, done] of Object.entries(JOBS)) {
      await tab.click(".brand");
      await says(tab, `${(own + others).toLocaleString("en")} ledgers`);
      await until(tab, () => !/not known yet|being worked out/.test(document.body.innerText));
      const begun = Date.now();
      await done({ tab }).catch((error) => {
        throw new Error(`${job} ${error.message}`);
      });
      console.log(`${job} ${Date.now() - begun} ms`);
      await tab.keyboard.press("Escape");
    }
    assert.deepEqual(trouble, []);
  });

export const cases = {
  "the jobs of an auditor are done on an organisation's ledgers": onOrganisation(),
  "the jobs of an auditor are done among ten thousand other ledgers": onOrganisation({
    others: 10_000,
  }),
};
