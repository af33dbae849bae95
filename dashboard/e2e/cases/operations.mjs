// What a reader has the server do: asking again, and statements.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openPage, settled } from "../browser.mjs";
import { onServer, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian, nameOf, poisson, rounds } from "../ledgers.mjs";

const RUNS = 100;
const run = (i) => `run-${String(i).padStart(3, "0")}`;
const start = (server, requestId, method, filter) =>
  server.call("RecomputeService/StartRecompute", {
    requestId,
    parent: "projects/-",
    filter,
    delta: 1e-6,
    options: { method },
  });
const shape = (tab) =>
  tab.evaluate(() => ({
    counts: Object.fromEntries(
      [...document.querySelectorAll(".counts > div")].map((box) => [
        box.querySelector("span").textContent,
        box.querySelector("strong").textContent,
      ]),
    ),
    rows: [...document.querySelectorAll("table.recomputed tbody tr")].map((row) =>
      [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()),
    ),
  }));

// Of a printed page: its size in mm, the number of pages, and all of its words (poppler's would be
// another dependency: the browser's own text layer is read instead).
const pagesOf = (pdf) => (pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g) ?? []).length;
const boxOf = (pdf) =>
  /\/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)/
    .exec(pdf.toString("latin1"))
    .slice(1)
    .map((points) => Math.round((Number(points) * 25.4) / 72));

export const cases = {
  "a hundred ledgers are asked again, and the table says how each changed": onServer(
    { filled: false },
    async ({ server, browser }) => {
      for (let i = 0; i < RUNS; i++) {
        await create(server, run(i), declared("again", "example"));
        await append(server, run(i), [
          i === 7
            ? rounds(100, { populationSize: "100", withReplacement: { sampleSize: "5" } }, 1)
            : rounds(500 + i, poisson(0.01), 1),
        ]);
      }
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/recompute`);
      await says(tab, "Nothing was asked again yet");
      const ask = async (method) => {
        await tab.goto(`${server.base}/recompute`);
        await tab.fill("#asked", 'dataset = "again"');
        await tab.fill("input[name=delta]", "1e-6");
        await tab.selectOption("select[name=method]", method);
        await tab.click("button[type=submit]");
        await until(tab, () => /^\/recompute\/.+/.test(location.pathname));
        await until(
          tab,
          () =>
            /100 of 100/.test(document.body.innerText) &&
            document.querySelectorAll("table.recomputed tbody tr").length === 100,
        );
        return shape(tab);
      };
      await ask("RDP");
      const found = await ask("BEST");
      // The page shows what the call says, rounded outward, greatest change first.
      const answer = await server.call("RecomputeService/ListRecomputed", {
        name: `operations/${new URL(tab.url()).pathname.split("/")[2]}`,
        pageSize: 1000,
      });
      const of = new Map(answer.results.map((one) => [one.now.ledger, one]));
      assert.equal(of.size, RUNS);
      let before = -Infinity;
      for (const [name, , then, now, change] of found.rows) {
        const one = of.get(nameOf(name.split(" ")[0]));
        assert.ok(one, name);
        if (one.now.refusal) continue;
        for (const [shown, told] of [
          [then, one.before.epsilon.upper],
          [now, one.now.epsilon.upper],
        ]) {
          assert.ok(
            parseFloat(shown) >= told && parseFloat(shown) < told * 1.001,
            `${name}: ${shown} for ${told}`,
          );
        }
        assert.ok(
          one.now.epsilon.upper < one.before.epsilon.upper,
          "the truth is closer than Rényi's bound",
        );
        assert.match(change, /^[−-]\d/, name);
        assert.ok(parseFloat(change.replace("−", "-")) >= before - 0.06, "greatest first");
        before = parseFloat(change.replace("−", "-"));
      }
      assert.deepEqual(trouble, []);
      // What was found is a ledger of the server's own, and the operation's address gives it as
      // JSON.
      assert.match(await text(tab), /kept in/);
      await tab.goto(`${tab.url()}?format=json`);
      await tab.waitForURL(/ListRecomputed/);
      assert.equal(
        JSON.parse(await tab.evaluate(() => document.body.innerText)).results.length,
        RUNS,
      );
    },
  ),

  // A looser method's upper end was once said to "cost more than was stated", and an operation over
  // one project to have asked about all ledgers.
  "what an operation says it asked for and found is so, in rows that can be sorted": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const in_ = (id) => `projects/team/ledgers/${id}`;
      for (const [id, noise] of [
        [in_("a"), 1],
        [in_("b"), 2],
        ["elsewhere", 3],
      ]) {
        await create(server, id, declared("again", "example"));
        await append(server, id, [rounds(500, poisson(0.01), noise)]);
      }
      for (let i = 0; i < 9; i++) await create(server, `other-${i}`, declared("others", "example"));
      const { page: tab, trouble } = await openPage(browser);
      const ask = async (requestId, method) => {
        const request = { requestId, parent: "projects/team", delta: 1e-6, options: { method } };
        const { name } = await server.call("RecomputeService/StartRecompute", request);
        const isOver = async () =>
          (await server.call("RecomputeService/GetOperation", { name })).state === "DONE";
        while (!(await isOver())) await tab.waitForTimeout(20);
        await tab.goto(`${server.base}/recompute/${name.split("/")[1]}`);
        await until(tab, () => document.querySelectorAll("table.recomputed tbody tr").length === 2);
        const tiles = await tab.evaluate(() =>
          [...document.querySelectorAll(".tiles > div")].map((one) => [
            one.querySelector("span").textContent,
            one.querySelector("strong").textContent,
          ]),
        );
        return tiles.map(([what, count]) => `${count} ${what}`).join("; ");
      };
      await ask("first", "BEST");
      const looser = await ask("second", "RDP");
      assert.match(looser, /0 cost more than was stated; 2 upper bounds that are larger: another/);
      await until(tab, () =>
        /all ledgers of project team, at δ = 10.6, by method rdp/.test(document.body.innerText),
      );
      const heights = () =>
        tab.evaluate(() =>
          [...document.querySelectorAll("main tbody tr")].map((row) => row.offsetHeight),
        );
      assert.ok((await heights()).every((height) => height <= 41));
      const names = () =>
        tab.evaluate(() =>
          [...document.querySelectorAll("table.recomputed tbody tr")].map((row) =>
            row.cells[0].innerText.trim(),
          ),
        );
      for (const [head, first, wanted] of [
        ["Ledger", "ascending", ["team/a", "team/b"]],
        ["Ledger", "descending", ["team/b", "team/a"]],
        ["Says now, ε at most", "ascending", ["team/b", "team/a"]],
        ["Change", "ascending", ["team/b", "team/a"]],
        ["Known to", "ascending"],
      ]) {
        await tab.click(`table.recomputed button:has-text("${head}")`);
        await until(tab, (way) => document.querySelector(`th[aria-sort=${way}]`), first);
        if (wanted) assert.deepEqual(await names(), wanted, `${head}, ${first}`);
      }
      await tab.goto(`${server.base}/recompute`);
      await says(tab, "all ledgers of project team, ");
      await until(tab, () =>
        /It asks about 12 ledgers: [^.]* and 4 others/.test(document.body.innerText),
      );
      assert.ok((await heights()).every((height) => height <= 41));
      assert.deepEqual(trouble, []);
    },
  ),

  "what was said of a ledger stands on its view, oldest answers and statements too": onServer(
    { filled: false },
    async ({ server, browser }) => {
      await create(server, "old", declared("again", "example"));
      await append(server, "old", [rounds(500, poisson(0.01), 1)]);
      const { page: tab, trouble } = await openPage(browser);
      const view = `${server.base}/ledger/default/old?delta=1e-6`;
      await tab.goto(view);
      await says(tab, "true value");
      assert.doesNotMatch(await text(tab), /What was said of it over time/);
      for (const method of ["RDP", "BEST"]) {
        const { name } = await start(server, `said-${method}`, method, "dataset = again");
        while ((await server.call("RecomputeService/GetOperation", { name })).state === "RUNNING");
      }
      await server.call("StatementService/IssueStatement", {
        statement: { ledger: nameOf("old"), delta: 1e-6 },
        issuer: { organization: "o", name: "n", role: "r" },
      });
      const { answers } = await server.call("RecomputeService/ListAnswers", {
        ledger: nameOf("old"),
        delta: 1e-6,
      });
      assert.equal(answers.length, 3);
      await tab.goto(view);
      await says(tab, "What was said of it over time");
      const rows = await tab.evaluate(() => {
        const heads = [...document.querySelectorAll("section.section")];
        const said = heads.find((one) => /over time/.test(one.querySelector("h2").textContent));
        return [...said.querySelectorAll("table.rows tbody tr")].map((row) =>
          [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()),
        );
      });
      assert.deepEqual(
        rows.map((row) => row[4]),
        ["statement 1", "recomputed", "recomputed"],
      );
      const [issued, best, renyi] = rows;
      assert.match(renyi[3], /^rdp, /);
      assert.equal(renyi[5], "not asked before");
      const less = answers[0].answer.epsilon.upper - answers[1].answer.epsilon.upper;
      assert.match(best[5], / less$/);
      assert.ok(Math.abs(parseFloat(best[5]) - less) < 1e-3 * less, `${best[5]} for ${less}`);
      assert.equal(issued[5], "unchanged");
      for (const [row, one] of [renyi, best].map((row, i) => [row, answers[i]])) {
        const shown = parseFloat(row[1].replace(/^\D+/, ""));
        const told = one.answer.epsilon.upper;
        assert.ok(shown >= told && shown < told * 1.001, `${row[1]} for ${told}`);
      }
      // Of another δ nothing was said.
      await tab.goto(`${server.base}/ledger/default/old?delta=1e-3`);
      await says(tab, "true value");
      await settled(tab);
      assert.doesNotMatch(await text(tab), /What was said of it over time/);
      assert.deepEqual(trouble, []);
    },
  ),

  "an operation shows how far it is, and ends when the reader says so": onServer(
    { filled: false },
    async ({ server, browser }) => {
      // To be met in the middle on a machine of any speed: the first 50, which are recorded
      // together, are quick, and the others take long. Every ledger has other queries, so that no
      // answer is known from another one.
      const [quick, all] = [50, 150];
      for (let i = 0; i < all; i++) {
        await create(server, run(i), declared("slow", "example"));
        await append(
          server,
          run(i),
          Array.from({ length: i < quick ? 1 : 4 }, (_, k) =>
            rounds(1000, poisson(0.001 * (k + 1)), 0.6 + i / 500 + k / 100),
          ),
        );
      }
      const operation = await start(server, "slow", "PLD", "dataset = slow");
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/recompute/${operation.name.split("/")[1]}`);
      // In the middle, which the page must show before the end. Results are recorded 50 at a time,
      // which takes as long as the machine's other work lets it.
      await tab.waitForFunction(
        (all) => {
          const bar = document.querySelector("[role=progressbar]");
          const at = Number(bar?.getAttribute("aria-valuenow"));
          return at > 0 && at < all && /running/.test(document.body.innerText);
        },
        all,
        { timeout: 240000 },
      );
      await tab.click("text=Cancel");
      await says(tab, "cancelled");
      const after = await server.call("RecomputeService/GetOperation", { name: operation.name });
      assert.equal(after.state, "CANCELLED");
      assert.ok(Number(after.done) < all, `${after.done} of ${all}`);
      // What was found until then stays, and is what the page shows.
      const { results = [] } = await server.call("RecomputeService/ListRecomputed", {
        name: operation.name,
        pageSize: 1000,
      });
      await until(
        tab,
        (rows) => document.querySelectorAll("table.recomputed tbody tr").length === rows,
        results.length,
      );
      assert.equal(
        await tab.evaluate(
          () =>
            document.querySelectorAll("button.link").length &&
            [...document.querySelectorAll("button")].some((one) => one.textContent === "Cancel"),
        ),
        false,
      );
      assert.deepEqual(trouble, []);
    },
  ),

  "what needs attention is acknowledged, and open again when something else is the matter":
    onServer({ filled: false }, async ({ server, browser }) => {
      await create(server, "torn", declared("d", "example"));
      await append(server, "torn", [gaussian(3)]);
      const correct = () =>
        append(server, "torn", [{ correction: { correctedSequence: "1", text: "wrong" } }]);
      await correct();
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(server.base);
      await says(tab, "torn: 1 correction");
      await tab.click(".notice:has-text('torn') >> text=Note…");
      await tab.fill("dialog >> label:has-text('Note') >> input", "read <b>it</b>");
      await tab.fill("dialog >> label:has-text('Assigned') >> input", "night shift");
      await tab.click("dialog >> button.primary");
      await says(tab, "assigned to night shift: read <b>it</b>");
      await until(tab, () => !document.querySelector("dialog"));
      const marked = () =>
        tab.evaluate(() => document.querySelector(".notice:has(.faint)").className);
      assert.doesNotMatch(await marked(), /warn|bad/);
      await correct();
      await says(tab, "torn: 2 corrections");
      assert.doesNotMatch(await text(tab), /night shift/);
      assert.deepEqual(trouble, []);
    }),

  "a statement shows every field, stated or not, and goes out as Markdown, HTML and JSON": onServer(
    async ({ server, browser }) => {
      const { page: tab, context, trouble } = await openPage(browser, { acceptDownloads: true });
      for (const [query, about] of [
        ["ledger=adult-logistic-eps1", { ledger: nameOf("adult-logistic-eps1") }],
        ["dataset=keyboard-usage", { dataset: "keyboard-usage" }],
        ["dataset=adult", { dataset: "adult" }],
        ["ledger=loan-scoring-search", { ledger: nameOf("loan-scoring-search") }],
      ]) {
        await tab.goto(`${server.base}/statement?${query}`);
        await until(tab, () => document.querySelector(".statement-field"));
        const told = await server.call("StatementService/GetStatement", about);
        const shown = await tab.evaluate(() =>
          [...document.querySelectorAll(".statement-field")].map((row) => ({
            label: row.querySelector("dt").textContent,
            open: row.classList.contains("open"),
            source: row.querySelector(".source").textContent,
          })),
        );
        const fields = told.sections.flatMap((section) => section.fields);
        assert.deepEqual(
          shown.map((row) => row.label),
          fields.map((field) => field.label),
          query,
        );
        assert.deepEqual(
          shown.map((row) => row.open),
          fields.map((field) => field.source === "NOT_STATED"),
        );
        assert.ok(
          shown.some((row) => row.open && row.source === "not stated"),
          "there is always something that a server cannot know",
        );
        if (told.answer?.refusal) assert.match(await text(tab), /No ε can be given/);
        else {
          // An odometer's number stands nowhere under the sign of differential privacy.
          const odometer = told.answer.details.regime === "ODOMETER";
          assert.equal(odometer, query === "dataset=adult");
          assert.ok(
            parseFloat((odometer ? /loss ≤ ([\d.]+)/ : /ε ≤ ([\d.]+)/).exec(await text(tab))[1]) >=
              told.answer.epsilon.upper,
          );
          if (odometer) assert.doesNotMatch(await text(tab), /ε ≤/);
        }
        for (const [button, name, wanted] of [
          ["Markdown", /^statement-.*\.md$/, "# Privacy statement"],
          ["HTML", /^statement-.*\.html$/, "<!doctype html>"],
          ["JSON", /^statement-.*\.json$/, "{"],
        ]) {
          const [download] = await Promise.all([
            tab.waitForEvent("download"),
            tab.click(`.title .actions >> text=${button}`),
          ]);
          assert.match(download.suggestedFilename(), name);
          const file = readFileSync(await download.path(), "utf8");
          assert.ok(
            file.toLowerCase().startsWith(wanted.toLowerCase()),
            `${button}: ${file.slice(0, 60)}`,
          );
          if (button === "JSON") assert.deepEqual(JSON.parse(file).sections, told.sections);
          if (button === "HTML")
            assert.ok(!/<script|src=|url\(|@import/i.test(file), "runs and fetches nothing");
        }
        await tab.goto(`${server.base}/statement?${query}&format=json`);
        await tab.waitForURL(/GetStatement/);
        const json = JSON.parse(await tab.evaluate(() => document.body.innerText));
        assert.deepEqual(json.sections, told.sections);
      }
      assert.deepEqual(trouble, []);
      await context.close();
    },
  ),

  "a statement is issued, known by its document, and withdrawn": onServer(
    async ({ server, browser }) => {
      const { page: tab, context, trouble } = await openPage(browser, { acceptDownloads: true });
      await tab.goto(`${server.base}/statement?ledger=adult-logistic-eps1&delta=1e-7`);
      await says(tab, "None was issued about this.");
      await tab.click(".title .actions >> text=Issue…");
      await tab.fill("dialog >> label:has-text('Organization') >> input", "<b>Office</b>");
      await tab.fill("dialog >> label:has-text('Person') >> input", "Data unit");
      await tab.click("dialog >> text=Issue it");
      // The browser wants the role.
      assert.equal(
        await tab.evaluate(() => document.querySelectorAll("dialog :invalid").length),
        2,
      );
      await tab.fill("dialog >> label:has-text('Role') >> input", "controller");
      await tab.fill("dialog >> input[type=date]", "2020-01-01");
      await tab.click("dialog >> text=Issue it");
      await says(tab, "issuer.valid_until: must be a day in the future");
      await tab.fill("dialog >> input[type=date]", "2099-01-01");
      const [download] = await Promise.all([
        tab.waitForEvent("download"),
        tab.click("dialog >> text=Issue it"),
      ]);
      await says(tab, "Statement 1 of the register was saved");
      const file = join(server.folder, "issued.html");
      await download.saveAs(file);
      assert.match(
        readFileSync(file, "utf8"),
        /Stated by “Data unit”, “controller”, “&lt;b&gt;Office/,
      );
      await tab.click("dialog >> [aria-label=Close]");
      await says(tab, "is valid until 2099-01-01");
      const { statements } = await server.call("StatementService/ListStatements", {});
      assert.equal(statements[0].delta, 1e-7, "the delta that was looked at");

      // By somebody who was handed the file.
      await tab.goto(`${server.base}/statement`);
      await says(tab, "Data unit, controller, <b>Office</b>");
      const check = (path) => tab.setInputFiles("input[type=file]", path);
      await check(file);
      await says(tab, "issued.html is statement 1, as it was issued");
      const changed = join(server.folder, "changed.html");
      writeFileSync(changed, `${readFileSync(file, "utf8")} `);
      await check(changed);
      await says(tab, "changed.html was not issued here");
      await server.call("StatementService/WithdrawStatement", {
        number: "1",
        ledger: nameOf("adult-logistic-eps1"),
        reason: "a run was missing",
      });
      await check(file);
      await says(tab, ": a run was missing");
      await says(tab, "issued.html is statement 1, which was withdrawn");
      assert.deepEqual(trouble, []);
      await context.close();
    },
  ),

  "what is printed of a statement is the server's document, with its style": onServer(
    async ({ server, browser }) => {
      const { page: tab, context, trouble } = await openPage(browser, { acceptDownloads: true });
      await context.addInitScript(() => {
        window.print = () => document.documentElement.setAttribute("data-printed", "yes");
      });
      await tab.goto(`${server.base}/statement?ledger=adult-mlp-eps2`);
      await until(tab, () => document.querySelector(".statement-field"));
      await settled(tab);
      const [paper] = await Promise.all([
        context.waitForEvent("page"),
        tab.click(".title .actions >> text=Print"),
      ]);
      paper.on("console", (message) => trouble.push(message.text()));
      await until(paper, () => document.documentElement.hasAttribute("data-printed"));
      assert.match(await text(paper), /^Privacy statement: .*adult-mlp-eps2: [\d,]+ entries/);
      assert.match(await text(paper), /9\. |How to check|checkpoint/);
      const styles = await paper.evaluate(() => [
        getComputedStyle(document.querySelector(".result")).borderTopStyle,
        getComputedStyle(document.querySelector("dt")).fontWeight,
      ]);
      assert.deepEqual(styles, ["solid", "700"], "by the document's own style");
      assert.equal(await tab.evaluate(() => document.documentElement.dataset.printed), undefined);
      await paper.close();
      // Where the browser opens no tabs the document is a file.
      await tab.evaluate(() => (window.open = () => null));
      const [file] = await Promise.all([
        tab.waitForEvent("download"),
        tab.click(".title .actions >> text=Print"),
      ]);
      assert.equal(file.suggestedFilename(), "statement-adult-mlp-eps2.html");
      assert.deepEqual(trouble, []);
    },
  ),

  "a statement prints on A4 with nothing cut off": onServer(async ({ server, browser }) => {
    const long = "W".repeat(200);
    await create(
      server,
      "wide",
      declared(long, "example", {
        released: `${"released ".repeat(20)}${long}`,
        description: long,
      }),
    );
    await append(server, "wide", [gaussian(3), { note: { text: long } }]);
    const { page: view, context } = await openPage(browser, { acceptDownloads: true });
    const { page: sheet } = await openPage(browser);
    const cutOff = (tab) =>
      tab.evaluate(() =>
        [...document.querySelectorAll("body *")]
          .filter((one) => {
            const box = one.getBoundingClientRect();
            return (
              box.width > 1 &&
              box.height > 1 &&
              !one.closest(".hidden, .skip") &&
              (box.right > innerWidth + 1 ||
                box.left < -1 ||
                (one.scrollWidth > one.clientWidth + 1 &&
                  /hidden|auto|scroll|clip/.test(getComputedStyle(one).overflowX)))
            );
          })
          .map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`),
      );
    const print = async (tab, what) => {
      await tab.emulateMedia({ media: "print" });
      // A4 within margins of 10 mm, at 96 px an inch.
      await tab.setViewportSize({ width: 718, height: 1047 });
      assert.deepEqual(await cutOff(tab), [], what);
      assert.equal(
        await tab.evaluate(() =>
          ["header.top", ".actions", "footer.foot a", "footer.foot button"].some((one) =>
            document.querySelector(one)?.checkVisibility(),
          ),
        ),
        false,
        "no buttons on paper",
      );
      // The zone of its times goes along.
      const zone = await tab.evaluate(() => {
        const [first] = document.querySelectorAll("footer.foot > *");
        return first ? first.checkVisibility() && first.innerText : "";
      });
      if (zone !== "") assert.equal(zone, "times in Europe/Berlin", what);
      const height = await tab.evaluate(() => document.documentElement.scrollHeight);
      const pdf = await tab.pdf({
        format: "A4",
        printBackground: true,
        margin: { top: "10mm", bottom: "10mm", left: "10mm", right: "10mm" },
      });
      assert.deepEqual(boxOf(pdf), [210, 297], what);
      assert.ok(
        pagesOf(pdf) >= Math.ceil(height / 1047),
        `${what}: ${pagesOf(pdf)} pages for ${height} px`,
      );
      // The control: what is wider than the paper is noticed.
      await tab.evaluate(() => {
        const wide = document.body.appendChild(document.createElement("div"));
        wide.style.cssText = "width:900px;height:9px";
      });
      assert.equal((await cutOff(tab)).length, 1);
    };
    for (const query of [
      "ledger=wide",
      "ledger=adult-mlp-eps2",
      `dataset=${long}`,
      "dataset=keyboard-usage",
    ]) {
      await view.goto(`${server.base}/statement?${query}`);
      await until(view, () => document.querySelector(".statement-field"));
      await settled(view);
      const [download] = await Promise.all([
        view.waitForEvent("download"),
        view.click(".title .actions >> text=HTML"),
      ]);
      const file = join(server.folder, "statement.html");
      await download.saveAs(file);
      await sheet.goto(pathToFileURL(file).href);
      await print(sheet, `${query}, the HTML page`);
      await print(view, `${query}, the view`);
      await view.emulateMedia({ media: null });
      await view.setViewportSize({ width: 1280, height: 900 });
    }
    await context.close();
  }),
};
