// ε recomputed by the page and by the verifier in one file: what agrees, what is false, and what
// keeps the accountant from an answer, which is never red.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../browser.mjs";
import { checked, command, onServer, outcomes, recomputes, says, text, until } from "../case.mjs";
import { append, create, declared, gaussian, nameOf } from "../ledgers.mjs";
import { sleep } from "../server.mjs";

const RUN = "adult-logistic-eps1";
const oneFile = (page) => join(page, "verifier/dpledger-verifier.html");
// A case that needs the accountant, which a page may have been built without.
const withAccountant = (body) =>
  onServer(async (at) => {
    if (recomputes(at.page)) return body(at);
    console.log("  (not run: the page was built without the accountant)");
  });
const costOf = async (tab) => {
  await checked(tab);
  const row = await tab.evaluate(() => document.querySelector("[data-check=cost]").innerText);
  const verdict = await tab.evaluate(() => document.querySelector(".verdict").className.trim());
  return { outcome: (await outcomes(tab)).cost, row, verdict };
};
const lookAt = async (tab, server, ledger) => {
  await tab.goto(`${server.base}/verify/default/${ledger}`);
  return costOf(tab);
};
const numbers = (words) =>
  [...words.matchAll(/\[([\d.]+), ([\d.]+)\]/g)].map((found) => found.slice(1));
const bundleOf = (bin, server, ledger, path) => {
  const to = ["--server", server.address, "--output", path, "--delta", "1e-6"];
  command(bin, "ledger", "export", ledger, ...to);
  return readFileSync(path);
};
const give = async (tab, path, bytes) => {
  writeFileSync(path, bytes);
  await tab.evaluate(() =>
    document.querySelectorAll("[data-check]").forEach((row) => row.setAttribute("data-before", "")),
  );
  await tab.setInputFiles("[aria-label='Bundle file']", []);
  await tab.setInputFiles("[aria-label='Bundle file']", path);
  await until(tab, () => !document.querySelector("[data-before]"));
  return costOf(tab);
};

export const cases = {
  "ε is recomputed here from a server's entries, and a smaller number is false": withAccountant(
    async ({ server, browser }) => {
      const { page: tab, context, trouble, asked } = await openPage(browser);
      const module = () => asked.filter((one) => one.endsWith("accountant.wasm.gz")).length;
      await tab.goto(`${server.base}/ledgers`);
      await until(tab, () => document.querySelector("tbody tr"));
      assert.equal(module(), 0, "no view but this one loads it");
      const found = await lookAt(tab, server, RUN);
      assert.equal(found.outcome, "held", found.row);
      assert.match(
        found.row,
        /Recomputed here[\s\S]*add or remove one, fixed plan[\s\S]*agrees with the server’s/,
      );
      assert.match(await text(tab), /The cost above follows from these entries/);
      assert.equal(module(), 1);
      // As the command line has it, which read no page.
      const subject = { ledgers: ["projects/default/ledgers/adult-logistic-eps1"] };
      const { epsilon } = await server.call("AccountingService/ComputeEpsilon", {
        subject,
        delta: 1e-5,
      });
      const [[lower, upper]] = numbers(found.row);
      assert.ok(Math.abs(upper - epsilon.upper) < 1e-9 * upper && lower <= epsilon.upper);

      // At another δ, and of a plan that is not at its end.
      await tab.goto(`${server.base}/verify/default/adult-night-run?delta=1e-7`);
      const night = await costOf(tab);
      assert.equal(night.outcome, "held", night.row);
      assert.match(night.row, /that of the whole plan in \[[\s\S]*δ = 10⁻⁷[\s\S]*planned \[/);

      // The server says less, or its answer is not to be had: false, or not compared.
      const answers = (change) =>
        context.route(/ComputeEpsilon$/, async (route) => {
          const body = await (await route.fetch()).json();
          change(body);
          await route.fulfill({
            status: 200,
            contentType: "application/json",
            body: JSON.stringify(body),
          });
        });
      await answers(({ epsilon }) => {
        epsilon.lower *= 0.999;
        epsilon.upper *= 0.999;
      });
      const less = await lookAt(tab, server, RUN);
      assert.deepEqual([less.outcome, less.verdict], ["failed", "card verdict bad"]);
      assert.match(less.row, /What the server says is another number/);
      assert.match(await text(tab), /cost failed[\s\S]*Do not rely on what this ledger shows/);
      await context.unroute(/ComputeEpsilon$/);
      await context.route(/ComputeEpsilon$/, (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/json",
          body: '{"code":"permission_denied","message":"not yours to ask"}',
        }),
      );
      const refused = await lookAt(tab, server, RUN);
      assert.equal(refused.outcome, "held");
      assert.match(refused.row, /It was not compared[\s\S]*not yours to ask/);
      assert.deepEqual(trouble, []);
    },
  ),

  // A link to a ledger's first entries once led to a check of all of them, without a word.
  "ε is recomputed of the entries, at the δ and by the method that the address asks for":
    withAccountant(async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/${RUN}?size=102&delta=1e-6`);
      await until(tab, () => document.querySelector(".epsilon"));
      await tab.click(".title .actions >> text=Verify");
      const cost = async (delta, method, size = 102) => {
        const { outcome, row } = await costOf(tab);
        assert.equal(outcome, "held", row);
        const { epsilon } = await server.call("AccountingService/ComputeEpsilon", {
          subject: { ledgers: [`projects/default/ledgers/${RUN}`], upToSequence: String(size) },
          delta,
          options: { method },
        });
        const [[, upper]] = numbers(row);
        assert.ok(Math.abs(upper - epsilon.upper) < 1e-9 * upper, `${row}: ${epsilon.upper}`);
        return row;
      };
      await says(tab, "ε is recomputed of the first 102 entries");
      assert.match(await cost(1e-6, "BEST"), /Of the first 102 of 2,036 entries\. Recomputed here/);
      const anew = async (change) => {
        await tab.evaluate(() =>
          document
            .querySelectorAll("[data-check]")
            .forEach((row) => row.setAttribute("data-before", "")),
        );
        await change();
        await until(tab, () => !document.querySelector("[data-before]"));
      };
      await anew(() => tab.selectOption(".ask select", "rdp"));
      await cost(1e-6, "RDP");
      await anew(async () => {
        await tab.fill(".ask input", "0,0001");
        await tab.press(".ask input", "Enter");
      });
      await cost(1e-4, "RDP");
      await anew(() => tab.click('button:has-text("Of all")'));
      assert.doesNotMatch(await cost(1e-4, "RDP", 2036), /Of the first/);
      assert.match(tab.url(), /\?delta=0\.0001&method=rdp$/);
      await tab.goto(`${server.base}/verify/default/${RUN}?size=5000`);
      assert.match(await cost(1e-5, "BEST", 2036), /Of all 2,036 entries; there are no 5,000/);
      // When it was received is said with its day.
      assert.match(await text(tab), /received \d+ \w+ 20\d\d[^.]*\d\d:\d\d:\d\d \S+/);
      assert.deepEqual(trouble, []);
    }),

  "ε is recomputed from a bundle on one's own disk, and a changed statement is false":
    withAccountant(async ({ server, browser, folder, bin, page }) => {
      const path = join(folder, "run.bundle");
      const good = bundleOf(bin, server, RUN, path);
      const at = good.indexOf('"upper":', good.indexOf("statement.json\0"));
      const bent = Buffer.from(good);
      bent[at + 10] -= 1; // the first digit of ε's upper end, behind "0."
      const statement = good.indexOf("statement.json\0");
      const without = Buffer.concat([good.subarray(0, statement), Buffer.alloc(1024)]);
      for (const address of [`${server.base}/verify`, `file://${oneFile(page)}`]) {
        const { page: tab, context, trouble, asked } = await openPage(browser);
        await tab.goto(address);
        await until(tab, () => document.querySelector("input[type=file]"));
        const found = await give(tab, path, good);
        assert.equal(found.outcome, "held", found.row);
        assert.match(
          found.row,
          /Recomputed here[\s\S]*δ = 10⁻⁶[\s\S]*agrees with statement.json’s/,
        );
        const changed = await give(tab, path, bent);
        assert.equal(changed.outcome, "failed", changed.row);
        assert.match(changed.row, /What statement.json says is another number/);
        const alone = await give(tab, path, without);
        assert.equal(alone.outcome, "held", alone.row);
        assert.match(alone.row, /δ = 10⁻⁵[\s\S]*The bundle has no statement/);
        if (address.startsWith("file:"))
          assert.deepEqual(
            asked.filter((one) => !/^(file|blob|data):/.test(one)),
            [],
          );
        assert.deepEqual(trouble, []);
        await context.close();
      }
    }),

  "a budget is checked here from its bundle and those of its runs": withAccountant(
    async ({ server, browser, folder, bin, page }) => {
      const budget = nameOf("held-budget");
      const mixture = { epsilon: 8, delta: 1e-6, orders: [2, 4, 8, 16, 32] };
      const over = (more) => declared("held", "person", { parameters: "ADAPTIVE", ...more });
      await create(server, "held-budget", over({ kind: "BUDGET", filter: { mixture } }));
      const plan = [gaussian(5)];
      const at = (name) => join(folder, `${name}.bundle`);
      const made = (name) => {
        const to = ["--server", server.address, "--output", at(name)];
        command(bin, "ledger", "export", name, ...to);
      };
      const grant = (name) =>
        server.call("LedgerService/GrantBudget", {
          budget,
          ledger: nameOf(name),
          requestId: `grant-${name}`,
          plan: plan.map(({ event }) => event),
        });
      await create(server, "held-a", over({ budget }));
      await create(server, "held-b", over({ budget }));
      await grant("held-a");
      await append(server, "held-a", plan);
      ["held-budget", "held-a"].forEach(made);
      const older = readFileSync(at("held-budget"));
      await grant("held-b");
      await create(server, "apart", declared("other", "person"));
      ["held-budget", "held-b", "apart", "adult-sealed-v1"].forEach(made);
      writeFileSync(at("older"), older);
      const stranger = readFileSync(at("held-a"));
      stranger[stranger.length >> 1] ^= 1;
      writeFileSync(at("bent"), stranger);
      for (const address of [`${server.base}/verify`, `file://${oneFile(page)}`]) {
        const { page: tab, context, trouble } = await openPage(browser);
        const drop = async (...names) => {
          await tab.goto(address);
          await until(tab, () => document.querySelector("input[type=file]"));
          await tab.setInputFiles("[aria-label='Bundle file']", names.map(at));
          await until(tab, () => document.querySelector("[data-check=budget]"));
          const found = await tab.evaluate(() => ({
            outcome: document.querySelector("[data-check=budget]").dataset.outcome,
            row: document.querySelector("[data-check=budget]").innerText,
            files: [...document.querySelectorAll(".check-file")].map((one) => one.innerText),
          }));
          return { ...found, all: await text(tab) };
        };
        const whole = await drop("held-a", "held-budget", "held-b");
        assert.equal(whole.outcome, "held", whole.row);
        assert.deepEqual(whole.files, [
          "held-a.bundle",
          "held-budget.bundle",
          "held-b.bundle",
          "Together",
        ]);
        assert.match(
          whole.row,
          /Budget held-budget was kept[\s\S]*2 grants fitted when made[\s\S]*of 8.000 is/,
        );
        assert.match(whole.row, /held-a spent [\d.]+ of [\d.]+\.[\s\S]*held-b spent 0 of/);
        assert.match(whole.all, /The 8 entries in the 3 bundles are the ones that were signed/);
        assert.match(whole.all, /The budget was kept: it was checked here/);
        const part = await drop("held-budget", "held-a");
        assert.equal(part.outcome, "missing", part.row);
        assert.match(part.row, /What held-b spent was not checked: no bundle is here/);
        assert.match(part.all, /and a budget was not checked as a whole/);
        const early = await drop("older", "held-b");
        assert.equal(early.outcome, "missing", early.row);
        assert.match(early.row, /No budget was checked[\s\S]*of 1 grants, and its budget of 0/);
        const none = await drop("held-a", "held-b");
        assert.equal(none.outcome, "missing", none.row);
        assert.match(none.row, /No budget was checked: none of the ledgers is a budget/);
        // No budget is spoken of where none is.
        const apart = await drop("apart", "adult-sealed-v1");
        assert.match(apart.all, /signed, and they are not all of one budget/);
        assert.doesNotMatch(apart.all, /was not checked as a whole/);
        // What nobody signs is no proof of anything.
        const [shown, not] = apart.all.split("What it does not show");
        assert.doesNotMatch(shown, /README/);
        assert.match(not, /README, events\.jsonl(, statement\.json)?\) say: nobody signs them/);
        const bent = await drop("held-budget", "bent");
        assert.equal(bent.outcome, "none", bent.row);
        assert.match(bent.all, /bent.bundle: [\w ]+ failed/);
        assert.deepEqual(trouble, []);
        await context.close();
      }
    },
  ),

  "what the accountant cannot answer is grey, with its reason": withAccountant(
    async ({ server, browser, folder, bin, page }) => {
      await create(server, "unknown", declared("unknown", "example"));
      await append(server, "unknown", [
        gaussian(5),
        { event: { mechanism: { unsupported: { description: "a new thing" } } } },
      ]);
      await sleep(600);
      const { page: tab, context, trouble } = await openPage(browser);
      for (const [ledger, why] of [
        [
          "adult-mlp-fine-tune",
          /fork of projects\/default\/ledgers\/adult-mlp-eps2, whose first 501 entries/,
        ],
        ["unknown", /Not recomputed here: [^\n]*unsupported/i],
      ]) {
        const found = await lookAt(tab, server, ledger);
        assert.deepEqual([found.outcome, found.verdict], ["none", "card verdict held"], found.row);
        assert.match(found.row, why);
        assert.match(await text(tab), /It was not recomputed here; dpledger ledger verify does it/);
      }
      assert.deepEqual(trouble, []);
      // The module is not there, is none, or the policy does not let it run.
      const policy = async (route) => {
        const answer = await route.fetch();
        const all = answer.headers();
        const held = all["content-security-policy"].replace(" 'wasm-unsafe-eval'", "");
        assert.notEqual(held, all["content-security-policy"]);
        await route.fulfill({
          response: answer,
          headers: { ...all, "content-security-policy": held },
        });
      };
      for (const [address, handler, why] of [
        [
          /accountant\.wasm\.gz$/,
          (route) => route.fulfill({ status: 404 }),
          /was not there \(404\)/,
        ],
        [
          /accountant\.wasm\.gz$/,
          (route) => route.fulfill({ body: "no module" }),
          /the accountant cannot be read: /,
        ],
        [/worker\.js$/, policy, /a policy of this browser or page does not let WebAssembly run/],
      ]) {
        await context.route(address, handler);
        const found = await lookAt(tab, server, RUN);
        assert.deepEqual([found.outcome, found.verdict], ["none", "card verdict held"], found.row);
        assert.match(found.row, why);
        assert.equal((await outcomes(tab)).entries, "held");
        await context.unroute(address);
      }
      // The same of the one file: without the word in its policy, and without the module.
      const path = join(folder, "run.bundle");
      const good = bundleOf(bin, server, RUN, path);
      const whole = readFileSync(oneFile(page), "utf8");
      for (const [change, why] of [
        [(html) => html.replace(" 'wasm-unsafe-eval'", ""), /a policy of this browser or page/],
        [
          (html) => html.replace(/(id="accountant">)[^<]*/, "$1AAAA"),
          /the accountant cannot be read: /,
        ],
      ]) {
        const file = join(folder, "verifier.html");
        writeFileSync(file, change(whole));
        assert.notEqual(change(whole), whole);
        await tab.goto(`file://${file}`);
        const found = await give(tab, path, good);
        assert.deepEqual([found.outcome, found.verdict], ["none", "card verdict held"], found.row);
        assert.match(found.row, why);
      }
    },
  ),
};
