// The drawer that compares: what speaks against a number, and room for ten ledgers.
import assert from "node:assert/strict";
import { openPage, settled } from "../browser.mjs";
import { onServer, until } from "../case.mjs";
import { append, create, declared, gaussian, nameOf, poisson, rounds, steps } from "../ledgers.mjs";

const opened = async (browser, server, names) => {
  const { page: tab, trouble } = await openPage(browser);
  await tab.goto(`${server.base}/ledgers?open=compare:${names.join(",")}`);
  await until(tab, () => document.querySelector("dialog table.compare"));
  await settled(tab);
  return { tab, trouble };
};
// The cells of each row, by its head.
const rowsOf = (tab) =>
  tab.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("dialog table.compare tbody tr")].map((row) => {
        const [head, ...cells] = [...row.children].map((cell) => cell.innerText.trim());
        return [head, cells];
      }),
    ),
  );

export const cases = {
  "what speaks against a number is a row, and a ledger that is not there is said": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const plan = declared("data", "example", { planIndependent: true });
      await create(server, "well", plan);
      await append(server, "well", [rounds(10, poisson(0.01, "1000"), 4)]);
      await create(server, "ill", plan);
      const large = rounds(10, poisson(0.01, "100000000"), 4);
      await append(server, "ill", [
        large,
        { note: { text: "a slip" } },
        { correction: { correctedSequence: "2", text: "no slip" } },
        { writerClosed: { entryCount: "4" } },
      ]);
      // A closed writer's batch is refused, and leaves a conflict: what it released is missing.
      await assert.rejects(append(server, "ill", [gaussian(4)]), /closed/);
      const summed = async () => {
        const request = { parent: "projects/-", filter: "conflicts > 0" };
        return (await server.call("LedgerService/ListLedgers", request)).ledgers?.length === 1;
      };
      for (let left = 100; left && !(await summed()); left--)
        await new Promise((done) => setTimeout(done, 100));
      await create(server, "unstated", plan);
      await append(server, "unstated", [gaussian(4)]);
      const { tab, trouble } = await opened(browser, server, [
        "well",
        "ill",
        "nowhere",
        "unstated",
      ]);
      const found = await rowsOf(tab);
      assert.deepEqual(found.Corrections, ["none", "1", "–", "none"]);
      assert.deepEqual(found["Refused batches"], ["none", "1", "–", "none"]);
      assert.deepEqual(found["Releases that may be missing"], ["none", "1", "–", "none"]);
      const [small, warned, none, unstated] = found["δ against 1/n"];
      assert.equal(unstated, "n is not stated");
      assert.deepEqual([small, none], ["no warning", "–"]);
      assert.match(warned, /^delta is too large: .*100000000 records/);
      assert.equal(found.Cost[2], "There is no such ledger.");
      assert.deepEqual([found.Entries[2], found.State[2]], ["–", "–"]);
      assert.deepEqual(trouble, []);
    },
  ),

  "ten ledgers are compared without a scroll bar of their own": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const names = Array.from({ length: 10 }, (_, i) => `a-run-with-a-long-name-${i}`);
      for (const [i, name] of names.entries()) {
        await create(server, name, declared("data", "example", { planIndependent: true }));
        await append(server, name, [gaussian(4 + i), rounds(100, poisson(0.01), 2 + i)]);
      }
      const { tab, trouble } = await opened(browser, server, names);
      await until(tab, () => document.querySelectorAll("dialog .chart path.line").length === 10);
      const box = await tab.evaluate(() => {
        const size = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => [
          scrollWidth - clientWidth,
          scrollHeight - clientHeight,
        ];
        const dialog = document.querySelector("dialog[open]");
        return {
          table: size(dialog.querySelector(".scroll-box")),
          dialog: dialog.scrollWidth - dialog.clientWidth,
        };
      });
      assert.deepEqual(box, { table: [0, 0], dialog: 0 });
      // Of a link to eleven, what is not shown is named.
      await tab.goto(`${server.base}/ledgers?open=compare:${[...names, "eleventh"].join(",")}`);
      await until(tab, () =>
        /names 11 ledgers\. The first 10 are compared; not shown: eleventh\./.test(
          document.body.innerText,
        ),
      );
      // Selected by hand on a telephone too.
      await tab.setViewportSize({ width: 360, height: 800 });
      await tab.goto(`${server.base}/ledgers`);
      await until(tab, () => document.querySelectorAll("table.lines tbody tr").length === 10);
      for (const at of [0, 1]) await tab.click(`table.lines input[type=checkbox] >> nth=${at}`);
      await tab.click("main .actions >> text=Compare 2");
      await until(tab, () => document.querySelector("dialog table.compare"));
      assert.deepEqual(trouble, []);
    },
  ),

  // Lines once went straight from 0 to the first size that was worked out: over what a fork has
  // from its parents, and over what a filter's bound covers from its first entry on.
  "no line of a chart is below the true cost, or where nothing is known": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const free = { planIndependent: true };
      const adaptive = { parameters: "ADAPTIVE", filter: { zcdp: { rho: 0.5 } } };
      await create(server, "parent", declared("data", "example", free));
      await append(server, "parent", [rounds(200, poisson(0.01), 0.9)]);
      const child = { parent: nameOf("parent"), name: nameOf("child"), reason: "tuning" };
      await server.call("LedgerService/ForkLedger", { ...child, requestId: "fork" });
      await append(server, "child", steps(0, 40, poisson(0.01), 1));
      await create(server, "filtered", declared("loans", "example", adaptive));
      await append(server, "filtered", [gaussian(4), gaussian(5), gaussian(3)]);
      await create(server, "corrected", declared("data", "example", free));
      await append(server, "corrected", [
        gaussian(2),
        { correction: { correctedSequence: "1", text: "it was another" } },
      ]);
      await create(server, "long", declared("data", "example", free));
      await append(server, "long", steps(0, 400, poisson(0.01), 0.9));
      const costs = async (name) => {
        const { size } = await server.call("LedgerService/GetLedger", { name: nameOf(name) });
        const all = [];
        for (let upTo = 1; upTo <= Number(size); upTo += upTo > 100 ? 37 : 1) {
          const subject = { ledgers: [nameOf(name)], upToSequence: String(upTo) };
          const question = { subject, delta: 1e-5, options: { method: "BEST" } };
          const answer = await server.call("AccountingService/ComputeEpsilon", question);
          const round = Number(answer.details.ledgers[0].rounds ?? 0);
          all.push({ upTo, round, upper: Number(answer.epsilon?.upper ?? 0) });
        }
        return all;
      };
      const { page: tab, trouble } = await openPage(browser);
      for (const [name, first] of [
        ["child", 200],
        ["filtered", 1],
        ["corrected", 1],
        ["long", 0],
      ]) {
        const known = await costs(name);
        await tab.goto(`${server.base}/ledger/default/${name}`);
        await until(tab, () => document.querySelector("main .chart path.line"));
        await settled(tab);
        const { line, xs, ys } = await tab.evaluate(() => {
          const svg = document.querySelector("main .chart > svg");
          const ticks = [...svg.querySelectorAll(".tick")].map((one) => ({
            value: Number(one.textContent.replaceAll(",", "")),
            x: Number(one.getAttribute("x")),
            y: Number(one.getAttribute("y")),
            left: one.getAttribute("text-anchor") === "end",
          }));
          return {
            line: svg.querySelector("path.line").getAttribute("d"),
            ys: ticks.filter(({ left }) => left),
            xs: ticks.filter(({ left }) => !left),
          };
        });
        assert.match(line, /^M[\d.]+ [\d.]+([HV][\d.]+)+$/, name);
        const scale = (ticks, axis, pixel) => {
          const [from, to] = [ticks[0], ticks.at(-1)];
          const share = (pixel - from[axis]) / (to[axis] - from[axis]);
          return from.value + share * (to.value - from.value);
        };
        // The height of the line over each stretch of it.
        const stretches = [];
        let [x, y] = line
          .slice(1)
          .match(/^([\d.]+) ([\d.]+)/)
          .slice(1)
          .map(Number);
        const start = x;
        for (const [, way, to] of line.matchAll(/([HV])([\d.]+)/g)) {
          if (way === "V") y = Number(to);
          else stretches.push({ from: x, to: (x = Number(to)), y: y + 4 }); // a tick's own is below
        }
        const close = scale(xs, "x", xs[0].x + 0.6);
        assert.ok(Math.abs(scale(xs, "x", start) - first) <= close, `${name} begins at ${start}`);
        const rounds = known.some(({ round }) => round > 0);
        for (const { upTo, round, upper } of known) {
          const at = rounds ? round : upTo;
          const above = stretches
            .filter(({ from, to }) => scale(xs, "x", from) < at && at < scale(xs, "x", to))
            .map((one) => scale(ys, "y", one.y));
          const slack = (ys.at(-1).value - ys[0].value) / 100;
          for (const height of above)
            assert.ok(height >= upper - slack, `${name} at ${at}: ${height}, and it is ${upper}`);
        }
      }
      assert.deepEqual(trouble, []);
    },
  ),

  "a course begins where nothing was recorded, and is counted in whole rounds": onServer(
    { filled: false },
    async ({ server, browser }) => {
      const one = () => rounds(1, poisson(0.01), 2);
      const note = { note: { text: "nothing released" } };
      for (const [name, entries] of [
        ["steps", [one(), one(), one()]],
        ["at-once", [rounds(100, poisson(0.01), 2), note, note]],
      ]) {
        await create(server, name, declared("data", "example", { planIndependent: true }));
        await append(server, name, entries);
      }
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/ledger/default/steps`);
      await until(tab, () => document.querySelector("main .chart path.line.second"));
      const { ticks, starts, bottom } = await tab.evaluate(() => {
        const svg = document.querySelector("main .chart > svg");
        const axis = svg.querySelector(".axis");
        return {
          ticks: [...svg.querySelectorAll(".tick")]
            .filter((one) => Number(one.getAttribute("y")) > Number(axis.getAttribute("y1")) + 10)
            .map((one) => one.textContent),
          starts: [...svg.querySelectorAll("path.line")].map(
            (line) => /^M([\d.]+ [\d.]+)/.exec(line.getAttribute("d"))[1],
          ),
          bottom: ["x1", "y1"].map((name) => Number(axis.getAttribute(name)).toFixed(1)).join(" "),
        };
      });
      assert.deepEqual(ticks, ["0", "1", "2", "3"]);
      assert.deepEqual(starts, [bottom, bottom]);
      // What was recorded at once has no course: one number says it.
      await tab.goto(`${server.base}/ledger/default/at-once`);
      await until(tab, () => document.querySelector("main .epsilon"));
      await settled(tab);
      await until(tab, () => !/Cost as rounds/.test(document.body.innerText));
      assert.equal(await tab.locator("main .chart .end").count(), 0);
      assert.deepEqual(trouble, []);
    },
  ),
};
