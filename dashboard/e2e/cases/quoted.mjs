// What an auditor would quote of an organisation's ledgers is true, and what stands on the screen
// is of now and of whoever is signed in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPage, settled } from "../browser.mjs";
import { command, onServer, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian, poisson, steps } from "../ledgers.mjs";
import { organise } from "../organisation.mjs";

const ask = async (tab, server, ledger) => {
  await tab.goto(`${server.base}/ledger/${ledger}`);
  await until(tab, () => document.querySelector(".epsilon, .refused"));
  await settled(tab);
  await until(tab, () => !/being worked out/.test(document.body.innerText));
  return text(tab);
};

export const cases = {
  "every ledger is described by what it is": onServer(
    { filled: false },
    async ({ server, browser, bin, folder }) => {
      await organise(server);
      const { page: tab, trouble } = await openPage(browser);
      const says = async (ledger, wanted, unwanted = []) => {
        const words = (await ask(tab, server, ledger)).replace(/\s+/g, " ");
        for (const one of wanted) assert.match(words, one, `${ledger}: ${words}`);
        for (const one of [...unwanted, /clock ahead/]) assert.doesNotMatch(words, one, ledger);
      };
      await says(
        "ads/raw-dump",
        [/ε has no bound/, /No guarantee: no finite epsilon is known at this delta/],
        [/protects/, /Differential privacy of/, /tells it rightly/],
      );
      // A mechanism's noise once stood beside a column that said it had none.
      await says("risk/report", [
        /gaussian 2\.000 /,
        /The record is corrected: some entries are said to be wrong/,
        /This record is corrected\./,
      ]);
      await says("risk/search", [/No ε can be given/, /ε refused/], [/protects/]);
      // By what neighbours differ in: who is in the data is another question than with what value.
      await says(
        "health/readmission-risk-v5",
        [
          /which of two values one given patient has, tells it rightly/,
          /It does not hide how many units there are and what that tells of who is in the data/,
        ],
        [/was in the data/, /among them/],
      );
      await says(
        "keyboard/next-word-2026-01",
        [/whether one given user contributed or was left blank/],
        [/was in the data/],
      );
      await says("marketing/churn-2025-01", [/whether one given customer was in the data/]);
      await says("names/arabic", [/protects one مريض/], [/Cost as /]); // a chart of a single point
      await says("default/adult-night", [
        /1 writer may hold releases that were never delivered/,
        /Releases may be missing in the record/,
      ]);
      await says("default/adult-workers", [/2 writers never closed/]);
      await says("ads/ctr-1", [/δ is not well below 1\/n\./, /90 times 1\/n/]);
      await tab.goto(`${server.base}/statement?ledger=${encodeURIComponent("ads/ctr-1")}`);
      await until(tab, () => document.querySelector(".statement-field"));
      assert.match((await text(tab)).replace(/\s+/g, " "), /delta is too large: 90 times 1\/n/);
      // An odometer's number protects nobody.
      await tab.goto(`${server.base}/dataset?name=adult`);
      await until(tab, () => document.querySelector(".epsilon-block"));
      const odometer = (await text(tab)).replace(/\s+/g, " ");
      assert.match(odometer, /speaks of one example .*This is not differential privacy/);
      assert.doesNotMatch(odometer, /protects/);
      // The command that the page offers works as it stands, for every project.
      await ask(tab, server, "health/readmission-risk-v5");
      const [offered] = await tab.evaluate(() =>
        [...document.querySelectorAll(".footnote code")].map((one) => one.innerText),
      );
      const [program, ...words] = offered.split(" ");
      assert.equal(program, "dpledger");
      const path = join(folder, "offered.bundle");
      command(bin, ...words, "--output", path);
      assert.ok(readFileSync(path).length > 5000);
      assert.deepEqual(trouble, []);
    },
  ),

  "what is being worked out is not refused": onServer(async ({ server, browser }) => {
    const { page: tab, context, trouble } = await openPage(browser);
    let pending = true;
    await context.route(/ListDatasets$/, async (route) => {
      const body = await (await route.fetch()).json();
      const one = body.datasets.find(({ name }) => name === "clinic-readmissions");
      if (pending && one) {
        delete one.epsilon;
        one.refusal = { reason: "UNDER_WAY", message: "It is being computed; ask again" };
      }
      await route.fulfill({ json: body });
    });
    const row = () =>
      tab.evaluate(() =>
        [...document.querySelectorAll("table.lines tbody tr")]
          .find((row) => /clinic-readmissions/.test(row.innerText))
          ?.innerText.replace(/\s+/g, " "),
      );
    await tab.goto(server.base);
    await says(tab, "being worked out");
    assert.match(await row(), /being worked out/);
    assert.doesNotMatch(await row(), /No total|refused/);
    assert.doesNotMatch(await text(tab), /ask again/);
    pending = false; // nothing else changes, and the number comes
    await until(tab, () => !document.body.innerText.includes("being worked out"));
    assert.match(await row(), /ε ≤ [\d.]+/);
    assert.deepEqual(trouble, []);
  }),

  "words on an attacker that take long are awaited": onServer(async ({ server, browser }) => {
    const { page: tab, context, trouble } = await openPage(browser);
    const answer = {};
    const held = ["words", "mu"].map((of) => new Promise((done) => (answer[of] = done)));
    await context.route(/ComputeProfile$/, async (route) => {
      await held[Number(route.request().postData().includes("gaussianLeastDelta"))];
      await route.continue();
    });
    await tab.goto(`${server.base}/ledger/default/adult-sealed-v1`);
    await says(tab, "What an attacker gains is still being worked out");
    await until(tab, () => document.querySelector(".epsilon"));
    answer.words();
    await says(tab, "tells it rightly with a chance of at most");
    assert.doesNotMatch(await text(tab), /being worked out|As one Gaussian/);
    answer.mu(); // which takes the longest, and holds up nothing else
    await says(tab, "As one Gaussian: μ at most");
    assert.deepEqual(trouble, []);
  }),

  "what was asked again is shown as it was asked, at its place, and as of now": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const noises = [3, 4, 5, 7];
      for (const noise of noises) {
        await create(server, `again-${noise}`, declared("again", "example"));
        await append(server, `again-${noise}`, [gaussian(noise)]);
      }
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/recompute`);
      await tab.fill("#asked", "dataset = again");
      await tab.fill("input[name=delta]", "0,000001");
      await tab.click("button[type=submit]");
      await until(tab, () => /^\/recompute\/.+/.test(location.pathname));
      await says(tab, "4 of 4");
      await says(tab, "ended just now");
      const name = `operations/${new URL(tab.url()).pathname.split("/")[2]}`;
      const { results } = await server.call("RecomputeService/ListRecomputed", { name });
      assert.ok(results.every(({ now }) => now.delta === 1e-6));
      const rows = await tab.evaluate(() =>
        [...document.querySelectorAll("table.recomputed tbody tr")].map((row) => ({
          name: row.cells[0].innerText.split(/\s/)[0],
          at: Number(row.querySelector("circle.now").getAttribute("cx")),
        })),
      );
      // Each point stands where the axis, which begins at 0 and ends at 194 px, has its number.
      const [, end] = /0 … ([\d.]+), at/.exec(await text(tab));
      for (const { name, at } of rows) {
        const { epsilon } = results.find(({ now }) => now.ledger.endsWith(name)).now;
        const wanted = 6 + (188 * epsilon.upper) / Number(end);
        assert.ok(at <= 194 && Math.abs(at - wanted) < 0.5, `${name}: ${at} for ${wanted}`);
      }
      assert.equal(rows.length, noises.length);
      assert.deepEqual(trouble, []);
    },
  ),

  "who signs out leaves nothing of the record on the screen, in no tab": onServer(
    { filled: false, flags: ["--identity"] },
    async ({ server, browser }) => {
      const secret = readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
      server.useToken(secret);
      await create(server, "kept-apart", declared("patients", "patient"));
      await append(server, "kept-apart", [gaussian(3)]);
      const { page: tab, context } = await openPage(browser);
      await tab.goto(`${server.base}/ledgers`);
      await until(tab, () => document.querySelector("dialog[open]"));
      await tab.check("dialog input[type=checkbox]");
      await tab.fill("dialog input[type=password]", secret);
      await tab.click("dialog button[type=submit]");
      await until(tab, () => !document.querySelector("dialog[open]"));
      await tab.fill("#filter", "dataset = patients");
      await tab.keyboard.press("Enter");
      await until(tab, () => /^1 ledger$/m.test(document.body.innerText));
      const other = await context.newPage();
      await other.goto(`${server.base}/ledger/default/kept-apart`);
      await until(other, () => document.querySelector(".epsilon"));
      await tab.click(".top-side >> text=Sign out");
      for (const one of [tab, other]) {
        await until(one, () => document.querySelector("dialog[open]"));
        await one.keyboard.press("Escape");
        await until(
          one,
          () => !/patients|ε ≤|open$/m.test(document.querySelector("main").innerText),
        );
        assert.equal(await one.evaluate(() => document.querySelectorAll("tbody tr").length), 0);
        await says(one, "Sign in to see");
        assert.equal(await one.locator("main .bad").count(), 0, "nothing has failed");
      }
    },
  ),

  "an entry that a link opens is on the screen, and its time is whole on any later day": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "long", declared("long", "example"));
      await append(server, "long", steps(0, 1000, poisson(0.01), 1));
      const { page: tab } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/long`);
      await until(tab, () => document.querySelector(".long-row time"));
      const today = await tab.evaluate(() => document.querySelector(".long-row time").innerText);
      assert.match(today, /^\d{1,2} [A-Z][a-z]{2,3},? \d\d:\d\d$/, "with its day");
      await tab.clock.setSystemTime(Date.now() + 400 * 24 * 3600_000);
      await tab.goto(`${server.base}/ledger/default/long/entry/1500`);
      await until(tab, () => document.querySelector(".opened-entry pre"));
      await settled(tab);
      await until(tab, () => {
        const { top } = document.querySelector(".opened-entry").getBoundingClientRect();
        return top >= 0 && top < innerHeight / 2;
      });
      await until(tab, () => document.querySelector(".long-row time"));
      const times = await tab.evaluate(() =>
        [...document.querySelectorAll(".long-row time")].map((one) => {
          const { scrollWidth, clientWidth, scrollHeight, clientHeight } = one.parentElement;
          const cut = scrollWidth > clientWidth || scrollHeight > clientHeight;
          return { words: one.innerText, cut, utc: one.title };
        }),
      );
      for (const { words, cut, utc } of times) {
        assert.match(words, /^\d{1,2} [A-Z][a-z]{2,3} 20\d\d, \d\d:\d\d$/);
        assert.equal(cut, false, words);
        assert.match(utc, /^20\d\d-\d\d-\d\dT[\d:.]+Z \(UTC\)$/);
      }
    },
  ),
};
