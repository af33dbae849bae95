// Lists of hundreds of runs: found, sorted, narrowed down, kept, shared, and left and come back to.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openPage, settled } from "../browser.mjs";
import { listOf, onServer, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian, many, nameOf, rounds, poisson } from "../ledgers.mjs";
import { datasetsOf, NO_OTHERS } from "../others.mjs";
import { sleep, startServer } from "../server.mjs";

const RUNS = 260; // more than a page of 200
const MADE = 'name:"/run-"'; // what many() makes, over four data sets
// How the data sets' view counts so many of them, and the others.
const countsOf = (count, others) =>
  `${(count + others).toLocaleString("en")} ledgers, ${4 + datasetsOf(others)} data sets`;
const cells = (tab, column) =>
  tab.evaluate(
    (column) =>
      [...document.querySelectorAll(`table.lines td[data-label="${column}"]`)].map((cell) =>
        cell.innerText.trim(),
      ),
    column,
  );
const rowsAre = (tab, count) =>
  until(tab, (count) => document.querySelectorAll("table.lines tbody tr").length === count, count);
const focused = (tab) => tab.evaluate(() => document.activeElement.outerHTML.slice(0, 60));

export const cases = {
  "rows are of 40 pixels, are sorted by the server, and say numbers in full on hover": onServer(
    { filled: false },
    async ({ server, browser, others }) => {
      await many(server, RUNS);
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(listOf(server, MADE));
      await rowsAre(tab, 200);
      const heights = await tab.evaluate(() => [
        ...new Set(
          [...document.querySelectorAll("table.lines tbody tr")].map((row) =>
            Math.round(row.getBoundingClientRect().height),
          ),
        ),
      ]);
      for (const height of heights) assert.ok(height <= 41, String(heights));
      await tab.click("table.lines th >> text=Cost of what was recorded");
      await tab.click("table.lines th >> text=Cost of what was recorded");
      await until(
        tab,
        () => document.querySelector("table.lines td.main").innerText.trim() === "run-0259",
      );
      assert.equal(new URL(tab.url()).searchParams.get("order"), "epsilon desc");
      assert.equal(await tab.getAttribute("table.lines th[aria-sort]", "aria-sort"), "descending");
      const [dearest] = await cells(tab, "Cost");
      const answer = await server.call("AccountingService/ComputeEpsilon", {
        subject: { ledgers: [nameOf("run-0259")] },
        delta: 1e-5,
      });
      const { lower, upper } = answer.epsilon;
      const shown = Number(/^ε ≤ ([\d.]+) at δ = 10−5, fixed plan$/.exec(dearest)[1]);
      assert.ok(shown >= upper && shown < upper * 1.001, dearest);
      assert.equal(
        await tab.getAttribute("table.lines td[data-label=Cost] [title]", "title"),
        `upper end ${upper}, lower end ${lower}`,
      );
      assert.equal((await cells(tab, "Protects"))[0], "example · add or remove one");
      // Without the column beside it, the number says itself whom it protects.
      await tab.click("summary >> text=Columns");
      await tab.click(".menu-body >> text=Protects");
      await until(tab, () => !document.querySelector("td[data-label=Protects]"));
      assert.match((await cells(tab, "Cost"))[0], /fixed plan · example · add or remove one$/);
      await tab.click(".menu-body >> text=Entries");
      await until(tab, () => document.querySelector("td[data-label=Entries]"));
      assert.equal((await cells(tab, "Entries"))[0], "2");
      await tab.keyboard.press("Escape");
      const address = tab.url();
      assert.match(address, /columns=epsilon%2Cstate%2Cdataset%2Crounds%2Clast%2Csize/);
      // The address is the view, for another reader too.
      const other = await openPage(browser);
      await other.page.goto(address);
      await rowsAre(other.page, 200);
      assert.deepEqual(await cells(other.page, "Cost"), await cells(tab, "Cost"));
      assert.equal((await cells(other.page, "Entries")).length, 200);
      // Kept in the browser, by a name.
      await tab.click("summary >> text=Views");
      await tab.fill(".menu-body input[maxlength]", "dearest <b>");
      await tab.keyboard.press("Enter");
      await says(tab, "dearest <b>");
      await tab.goto(`${server.base}/`);
      await rowsAre(tab, 4 + datasetsOf(others));
      await tab.click("summary >> text=Views");
      await tab.click(".menu-body >> text=dearest <b>");
      await rowsAre(tab, 200);
      assert.equal(tab.url(), address);
      await tab.click("summary >> text=Views");
      await tab.click('[aria-label="Remove the view dearest <b>"]');
      assert.equal(await tab.evaluate(() => localStorage.getItem("dpledger.views")), null);
      // Data sets by what they cost, and by name.
      await tab.goto(`${server.base}/?order=${encodeURIComponent("name desc")}`);
      await rowsAre(tab, 4 + datasetsOf(others));
      const sets = (await cells(tab, "Data set")).slice(0, 4);
      assert.deepEqual(sets, ["set-3", "set-2", "set-1", "set-0"]);
      assert.ok((await text(tab)).includes(countsOf(RUNS, others)));
      assert.deepEqual(trouble, []);
      assert.deepEqual(other.trouble, []);
    },
  ),

  "a filter is completed, explained, and marked where it is wrong": onServer(
    async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(listOf(server, NO_OTHERS));
      await rowsAre(tab, 13);
      await tab.goto(`${server.base}/ledgers`);
      await settled(tab);
      await tab.keyboard.press("/");
      const offered = () =>
        tab.evaluate(() =>
          [...document.querySelectorAll("[role=option] code")].map((one) => one.innerText),
        );
      const offers = (...wanted) =>
        until(
          tab,
          (wanted) =>
            [...document.querySelectorAll("[role=option] code")]
              .map((one) => one.innerText)
              .join() === wanted,
          wanted.join(),
        );
      await tab.keyboard.type("da");
      await offers("dataset");
      await tab.keyboard.press("ArrowDown");
      await tab.keyboard.press("Enter");
      assert.equal(await tab.inputValue("#filter"), "dataset ");
      assert.ok((await offered()).includes("="));
      await tab.keyboard.type("= cli");
      await offers("clinic-readmissions");
      await tab.keyboard.press("ArrowDown");
      await tab.keyboard.press("Tab");
      await tab.keyboard.type("A");
      await offers("AND");
      await tab.keyboard.type("ND state = ");
      await offers("OPEN", "SEALED");
      await tab.keyboard.press("Escape");
      await offers();
      await tab.keyboard.type("CLOSED");
      await tab.keyboard.press("Enter");
      const fault = () =>
        tab.evaluate(() => ({
          marked: document.querySelector(".filter-fault mark")?.innerText,
          rule: document.querySelector(".filter-fault p")?.innerText,
        }));
      await until(tab, () => document.querySelector(".filter-fault"));
      assert.deepEqual(await fault(), {
        marked: "CLOSED",
        rule: 'State must be one of OPEN, SEALED, got "CLOSED".',
      });
      assert.equal(await tab.getAttribute("#filter", "aria-invalid"), "true");
      for (const [filter, marked, rule] of [
        ['dataset = "é" AND x = 1', "x", /^The marked part must be a field \(name/],
        ["epsilon = 1)", ")", /^There is no \( for this \)/],
        ["dataset =", "▯", /^At its end there must be a value/],
        ['dataset = "abc', '"abc', /^There is no second "/],
        ["x) OR (y", "x", /^The marked part must be a field/],
      ]) {
        await tab.goto(`${server.base}/ledgers?${new URLSearchParams({ filter })}`);
        await until(tab, () => document.querySelector(".filter-fault"));
        const said = await fault();
        assert.equal(said.marked, marked, filter);
        assert.match(said.rule, rule, filter);
      }
      await tab.click("summary >> text=How to filter");
      await tab.click(".menu-body >> text=refused:* OR conflicts > 0");
      await until(tab, () => /^[123] ledgers?$/m.test(document.body.innerText));
      assert.deepEqual(trouble, []);
    },
  ),

  "the file has all pages, and so has a data set; the server's own ledgers stand apart": onServer(
    { filled: false, flags: ["--identity"] },
    async ({ server, browser, folder, others }) => {
      const secret = readFileSync(`${server.folder}/store.tokens.first-admin`, "utf8").trim();
      server.useToken(secret);
      await many(server, RUNS);
      await server.call("RecomputeService/StartRecompute", {
        requestId: "lists",
        parent: "projects/-",
        filter: 'name:"run-0000"',
        options: { method: "RDP" },
      });
      await sleep(500);
      const { page: tab, trouble } = await openPage(browser, { acceptDownloads: true });
      // What asks for a thousand at a time gets pages of 25.
      await tab.route(/ListLedgers$/, async (route) => {
        const asked = JSON.parse(route.request().postData());
        const pageSize = asked.pageSize === 1000 ? 25 : asked.pageSize;
        await route.continue({ postData: JSON.stringify({ ...asked, pageSize }) });
      });
      await tab.goto(listOf(server, MADE, { order: "name desc" }));
      await until(tab, () => document.querySelector("dialog[open]"));
      await tab.check("dialog input[type=checkbox]");
      await tab.fill("dialog input[type=password]", secret);
      await tab.click("dialog button[type=submit]");
      await rowsAre(tab, 200);
      const file = async () => {
        const coming = tab.waitForEvent("download");
        await tab.click("main .actions >> text=CSV");
        const path = `${folder}/list.csv`;
        await (await coming).saveAs(path);
        return readFileSync(path, "utf8").trim().split("\n");
      };
      const lines = await file();
      assert.equal(lines.length, 1 + RUNS);
      assert.match(lines[1], /ledgers\/run-0259,set-3,/);
      assert.equal(lines.filter((line) => /recomputations|access-record/.test(line)).length, 0);
      await tab.fill("#filter", "dataset = set-1");
      await tab.keyboard.press("Enter");
      await rowsAre(tab, RUNS / 4);
      assert.equal((await file()).length, 1 + RUNS / 4);
      await tab.goto(`${server.base}/`);
      await rowsAre(tab, 4 + datasetsOf(others));
      assert.ok((await text(tab)).includes(countsOf(RUNS, others)));
      await tab.click("text=The server’s own ledgers");
      await until(tab, () => /recomputation/.test(document.body.innerText));
      assert.doesNotMatch(await text(tab), /run-0/);
      await tab.goto(`${server.base}/dataset?name=set-1`);
      await rowsAre(tab, RUNS / 4);
      await says(tab, `${RUNS / 4} runs on this server`);
      await says(tab, `All ${RUNS / 4} runs together`);
      assert.deepEqual(trouble, []);
    },
  ),

  "ten thousand runs are found, sorted, narrowed down and written to a file as hundreds are":
    onServer({ filled: false }, async ({ server, browser, folder, others }) => {
      const count = 10000;
      await many(server, count);
      const { page: tab, trouble } = await openPage(browser, { acceptDownloads: true });
      await tab.goto(listOf(server, MADE));
      await rowsAre(tab, 200);
      await tab.click("text=Show 200 more");
      await rowsAre(tab, 400);
      await tab.goto(listOf(server, MADE, { order: "epsilon desc" }));
      await rowsAre(tab, 200);
      const names = await tab.evaluate(() =>
        [...document.querySelectorAll("table.lines td.main")].map((cell) => cell.innerText.trim()),
      );
      assert.deepEqual(
        names.slice(0, 3),
        ["run-9999", "run-9998", "run-9997"],
        "the dearest of all, not of a page",
      );
      const coming = tab.waitForEvent("download");
      await tab.click("main .actions >> text=CSV");
      await (await coming).saveAs(`${folder}/list.csv`);
      const lines = readFileSync(`${folder}/list.csv`, "utf8").trim().split("\n");
      assert.equal(lines.length, 1 + count);
      assert.match(lines.at(-1), /ledgers\/run-0000,/);
      await tab.fill("#filter", 'dataset = set-3 AND name:"run-98"');
      await tab.keyboard.press("Enter");
      await rowsAre(tab, 25);
      await tab.click(".search-button");
      await until(tab, () => document.querySelector("dialog[open] input"));
      await tab.keyboard.type("run-7654");
      await until(tab, () => document.querySelectorAll("dialog .found li").length === 1);
      await tab.click("dialog >> text=run-7654");
      await until(tab, () => location.pathname === "/ledger/default/run-7654");
      await tab.goto(`${server.base}/verify`);
      await tab.fill("main input", "run-8765");
      await until(tab, () => document.querySelector("datalist option"));
      await tab.goto(`${server.base}/`);
      await rowsAre(tab, 4 + datasetsOf(others));
      assert.ok((await text(tab)).includes(countsOf(count, others)));
      await tab.goto(`${server.base}/dataset?name=set-1`);
      await says(tab, "2,500 runs on this server");
      await says(tab, "All 2,500 runs together");
      assert.deepEqual(trouble, []);
    }),

  "back keeps the place and the pages, and the focus follows the view": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await many(server, RUNS);
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(listOf(server, MADE));
      await rowsAre(tab, 200);
      await tab.click("text=Show 200 more");
      await rowsAre(tab, RUNS);
      const link = tab.locator("text=run-0251");
      await link.scrollIntoViewIfNeeded();
      const before = await tab.evaluate(() => scrollY);
      assert.ok(before > 5000, String(before));
      await link.click();
      await until(tab, () => document.querySelector(".epsilon"));
      assert.equal(await tab.evaluate(() => scrollY), 0);
      assert.match(await focused(tab), /^<h1/);
      await tab.goBack();
      await rowsAre(tab, RUNS);
      await until(tab, (before) => Math.abs(scrollY - before) < 2, before);
      assert.match(await focused(tab), /^<h1/);
      // Also after the page was loaded anew, and not against a reader who scrolls.
      await tab.waitForTimeout(600);
      await tab.reload();
      await rowsAre(tab, RUNS);
      await until(tab, (before) => Math.abs(scrollY - before) < 2, before);
      await tab.mouse.move(600, 400);
      await tab.mouse.wheel(0, -1500);
      await until(tab, (before) => scrollY < before - 1000, before);
      await tab.waitForTimeout(600);
      assert.ok((await tab.evaluate(() => scrollY)) < before - 1000);
      // A view that is fetched when it is opened.
      await tab.click("nav.views >> text=Recompute");
      await says(tab, "What would today’s methods say");
      await until(tab, () => document.activeElement.matches("main h1"));
      assert.deepEqual(trouble, []);
    },
  ),

  "search and choosers find what no first page has": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await many(server, 30);
      for (const [id, dataset] of [
        ["projects/risk/ledgers/zebra-scores", "loans 2026"],
        ["zz-last", 'odd "zebra" \\ name'],
      ]) {
        await create(server, id, declared(dataset, "example"));
        await append(server, id, [gaussian(3)]);
      }
      await sleep(600);
      const { page: tab, context, trouble } = await openPage(browser);
      await context.route(/ListLedgers$/, async (route) => {
        const asked = JSON.parse(route.request().postData());
        const postData = JSON.stringify({ ...asked, pageSize: Math.min(asked.pageSize, 5) });
        await route.continue({ postData });
      });
      await tab.goto(`${server.base}/ledgers`);
      await settled(tab);
      assert.doesNotMatch(await text(tab), /zebra/);
      await tab.keyboard.press("s");
      await until(tab, () => document.querySelector("dialog[open] input"));
      await tab.keyboard.type("Zebra");
      await until(tab, () => document.querySelectorAll("dialog .found li").length === 2);
      const found = await tab.evaluate(() => document.querySelector("dialog").innerText);
      assert.match(found, /Ledgers\s+risk\/zebra-scores\s+Data sets\s+odd "zebra" \\ name/);
      await tab.fill("dialog input", "risk/zeb");
      await until(tab, () => document.querySelectorAll("dialog .found li").length === 1);
      await tab.click("dialog >> text=risk/zebra-scores");
      await until(tab, () => location.pathname === "/ledger/risk/zebra-scores");
      assert.equal(await tab.evaluate(() => document.querySelectorAll("dialog").length), 0);
      // A filter is completed by names that no first page has, too.
      await tab.goto(`${server.base}/ledgers`);
      await settled(tab);
      await tab.click("#filter");
      await tab.keyboard.type("dataset = lo");
      await until(
        tab,
        () => document.querySelector("[role=option] code")?.innerText === '"loans 2026"',
      );
      await tab.keyboard.press("ArrowDown");
      await tab.keyboard.press("Tab");
      await tab.keyboard.press("Enter");
      await until(tab, () => document.querySelector("h2.count").innerText.trim() === "1 ledger");
      assert.match(await text(tab), /risk\/zebra-scores/);
      // Nothing has this name, and it says so.
      await tab.click(".search-button");
      await until(tab, () => document.querySelector("dialog[open] input"));
      await tab.keyboard.type("no such thing");
      await says(tab, "Nothing has this name");
      await tab.keyboard.press("Escape");
      await tab.goto(`${server.base}/statement`);
      await tab.fill("main input", "zebra");
      await until(tab, () => document.querySelectorAll("datalist option").length === 2);
      await tab.fill("main input", 'odd "zebra" \\ name');
      await tab.keyboard.press("Enter");
      await until(tab, () => new URLSearchParams(location.search).has("dataset"));
      await tab.goto(`${server.base}/verify`);
      await tab.fill("main input", "zebra");
      await until(tab, () => document.querySelector("datalist option"));
      await tab.fill("main input", "risk/zebra-scores");
      await tab.click("text=Check it");
      await until(tab, () => location.pathname === "/verify/risk/zebra-scores");
      assert.deepEqual(trouble, []);
    },
  ),

  "a view that could not be fetched, or not be answered, comes back with the server": onServer(
    async ({ server, browser, bin, page }) => {
      const { page: tab } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/adult-sealed-v1`);
      await until(tab, () => document.querySelector(".epsilon"));
      await server.stop({ keep: true, signal: "SIGKILL" });
      await tab.click("nav.views >> text=Recompute");
      await says(tab, "A part of the page could not be fetched");
      const again = await startServer({
        bin,
        page,
        folder: server.folder,
        listen: server.address,
      });
      try {
        await says(tab, "What would today’s methods say");
        await tab.goto(`${server.base}/statement?ledger=adult-sealed-v1`);
        await until(tab, () => document.querySelector(".epsilon"));
        await again.stop({ keep: true, signal: "SIGKILL" });
        await tab.click("main .trail a");
        await says(tab, "the server cannot be reached");
        await tab.goBack();
        await says(tab, "Could not get the statement");
        const third = await startServer({
          bin,
          page,
          folder: server.folder,
          listen: server.address,
        });
        try {
          await until(tab, () => document.querySelector(".epsilon"));
          assert.doesNotMatch(await text(tab), /Could not get/);
        } finally {
          await Promise.all(browser.contexts().map((context) => context.close()));
          await third.stop();
        }
      } finally {
        again.child.kill("SIGKILL");
      }
    },
  ),

  "δ and size are chosen on every view, are refused in words, and go along with links": onServer(
    async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      const query = () => Object.fromEntries(new URL(tab.url()).searchParams);
      const answered = (subject, delta) =>
        server.call("AccountingService/ComputeEpsilon", { subject, delta });
      const shows = (upper) =>
        until(
          tab,
          (upper) => {
            const shown = Number(
              /([\d.]+)/.exec(document.querySelector(".epsilon")?.innerText)?.[1],
            );
            return shown >= upper && shown < upper * 1.001;
          },
          upper,
        );
      const ask = async (place, value) => {
        await tab.fill(`.ask input >> nth=${place}`, value);
        await tab.keyboard.press("Enter");
      };
      const ledgers = [nameOf("adult-logistic-eps1")];
      await tab.goto(`${server.base}/dataset?name=clinic-readmissions`);
      await until(tab, () => document.querySelector(".epsilon"));
      await ask(0, "0,001"); // a decimal comma
      await shows((await answered({ dataset: "clinic-readmissions" }, 1e-3)).epsilon.upper);
      assert.equal(query().delta, "0.001");
      for (const wrong of ["2", "abc", "1.000,5", "0"]) {
        await ask(0, wrong);
        await says(tab, `“${wrong}” is no δ: it lies between 0 and 1`);
        assert.equal(query().delta, "0.001");
      }
      await ask(0, "10^-7");
      const tight = (await answered({ dataset: "clinic-readmissions" }, 1e-7)).epsilon.upper;
      await shows(tight);
      // To the statement, and back over the lists to another thing.
      await tab.click(".title >> text=Statement");
      await shows(tight);
      assert.deepEqual(query(), { dataset: "clinic-readmissions", delta: "1e-7" });
      await tab.click("nav.views >> text=Ledgers");
      await tab.fill("#filter", "dataset = adult");
      await tab.keyboard.press("Enter");
      await tab.click("table.lines >> text=adult-logistic-eps1");
      await shows((await answered({ ledgers }, 1e-7)).epsilon.upper);
      await ask(1, "3000");
      await says(tab, "“3000” is no number of its entries: 1 to 2,036");
      await ask(1, "1 000");
      const prefix = { ledgers, upToSequence: "1000" };
      await shows((await answered(prefix, 1e-7)).epsilon.upper);
      await says(tab, "Shown: the first 1,000 of 2,036 entries");
      await tab.click(".title >> text=Statement");
      await until(tab, () => location.pathname === "/statement");
      await shows((await answered(prefix, 1e-7)).epsilon.upper);
      assert.deepEqual(query(), { ledger: ledgers[0], delta: "1e-7", size: "1000" });
      await says(tab, "at 1,000 entries, root");
      await ask(1, "");
      await ask(0, "1e-4");
      await shows((await answered({ ledgers }, 1e-4)).epsilon.upper);
      await tab.click("main .trail a");
      await until(tab, () => location.pathname.startsWith("/ledger/"));
      assert.deepEqual(query(), { delta: "1e-4" });
      // Its data set is not looked at by its size.
      await ask(1, "500");
      await tab.click("main .trail >> text=adult");
      await until(tab, () => location.pathname === "/dataset");
      assert.deepEqual(query(), { name: "adult", delta: "1e-4" });
      // What the address asks for and cannot be is said.
      await tab.goto(`${server.base}/ledger/default/adult-sealed-v1?delta=2`);
      await says(tab, "The address asks for δ “2”, which is none.");
      assert.deepEqual(trouble, []);
    },
  ),
};
