// The drawer of plans: numbers as people type them, and its question asked from elsewhere.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../browser.mjs";
import { command, onServer, says, text, until } from "../case.mjs";
import { append, create, declared, poisson, rounds } from "../ledgers.mjs";

const EMPTY = { filled: false };
const field = (tab, label) =>
  tab
    .locator("dialog label.field", { hasText: new RegExp(`^${label}`) })
    .locator("input, textarea, select");
const path = (name) => `events[0].rounds.${name}`;
const plan = (fields) =>
  `?open=${encodeURIComponent(`plan:${new URLSearchParams({ kind: "poisson", ...fields })}`)}`;
// The first number of each answer that the drawer shows.
const shown = (tab) =>
  tab.evaluate(() =>
    [...document.querySelectorAll("dialog .epsilon")].map((one) =>
      Number(/([\d.]+)(?!.*[\d.])/.exec(one.innerText.replaceAll(",", ""))[1]),
    ),
  );
const answers = (tab, count) =>
  until(tab, (count) => document.querySelectorAll("dialog .epsilon").length === count, count);
// Rounded to the safe side, and to no more than so many parts.
const isAbove = (number, found) => {
  assert.ok(number >= found && number < found * 1.001, `${number} for ${found}`);
};
// The question as it is shown to be asked from elsewhere.
async function codeOf(tab, kind) {
  await tab.click(`dialog .actions button >> text=${kind}`);
  await until(
    tab,
    (kind) => document.querySelector("pre.code").ariaLabel === `The question as ${kind}`,
    kind,
  );
  return tab.evaluate(() => document.querySelector("pre.code").textContent);
}
const pythonOf = (bin) => join(bin, "../python");
const hasPython = (bin) =>
  existsSync(join(pythonOf(bin), "dpledger")) && existsSync("/usr/bin/python3");
const programs = (bin, more) => {
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    PYTHONPATH: pythonOf(bin),
    PYTHONDONTWRITEBYTECODE: "1",
    DPLEDGER_LIBRARY_PATH: join(bin, "../lib"),
  };
  return (program, words, input) =>
    execFileSync(program, words, { encoding: "utf8", env, input, stdio: "pipe", ...more });
};
const shell = (run, code) => run("sh", ["-c", code]);
const inPython = (run, code) => run("/usr/bin/python3", ["-"], code).trim().split("\n").map(Number);
// What the command line prints as JSON, of each of its questions.
const asJson = (code) => code.replaceAll(" --events", " --json --events");
const jsonOf = (said) => JSON.parse(`[${said.replace(/\}\s*\{/g, "},{")}]`);

export const cases = {
  "numbers are taken with a decimal comma, and refused in words where they could be two": onServer(
    EMPTY,
    async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/?open=plan`);
      await until(tab, () => document.querySelector("dialog .plan-form"));
      const wrong = () =>
        tab.evaluate(() =>
          [...document.querySelectorAll("dialog .field")]
            .filter((one) => one.querySelector(".warn-text"))
            .map((one) => one.innerText.replace(/\s+/g, " ").trim()),
        );
      assert.deepEqual(await wrong(), []);
      await field(tab, "Sampling probability").fill("1.000,5");
      await field(tab, "Rounds").fill("1.000");
      await field(tab, "δ").first().fill("2");
      await field(tab, "Target ε").fill("-1");
      await tab.click("dialog button[type=submit]");
      await until(tab, () => document.querySelectorAll("dialog .warn-text").length === 4);
      assert.match((await wrong()).join("; "), /Rounds It must be a whole number/);
      await field(tab, "Look for").selectOption({ label: "Rounds" });
      assert.equal((await wrong()).length, 3, "what is looked for need not be right");
      await field(tab, "Look for").selectOption({ label: "Noise multiplier" });
      assert.equal(new URL(tab.url()).searchParams.get("open"), "plan", "nothing was asked");
      await field(tab, "Target ε").fill("1,5");
      await field(tab, "δ").first().fill("0,000001");
      await field(tab, "Sampling probability").fill("0,02");
      await field(tab, "Rounds").fill("1 000");
      await tab.click("dialog button[type=submit]");
      await until(tab, () => document.querySelectorAll("dialog .epsilon").length === 2);
      const inputs = new URLSearchParams(
        new URL(tab.url()).searchParams.get("open").replace("plan:", ""),
      );
      assert.deepEqual(
        ["epsilon", "delta", path("scheme.poisson.probability"), path("count")].map((name) =>
          inputs.get(name),
        ),
        ["1.5", "0.000001", "0.02", "1000"],
      );
      const answer = await server.call("AccountingService/Calibrate", {
        epsilon: 1.5,
        delta: 1e-6,
        solve: "NOISE_MULTIPLIER",
        samplingProbability: 0.02,
        steps: "1000",
        options: { adjacency: "ADD_OR_REMOVE_ONE", parameters: "FIXED" },
      });
      isAbove((await shown(tab))[0], answer.noiseMultiplier);
      assert.deepEqual(trouble, []);
    },
  ),

  "the question can be copied, and gives the same number from everywhere": onServer(
    EMPTY,
    async ({ server, browser, bin }) => {
      const { page: tab, trouble } = await openPage(browser);
      const run = programs(bin);
      const noise = path("queries[0].noiseStddev");
      const inputs = { epsilon: "1.5", delta: "0.000001", [path("count")]: "500" };
      for (const find of [noise, path("count"), ""]) {
        await tab.goto(`${server.base}/${plan({ ...inputs, find, [noise]: "1.1" })}`);
        await until(tab, () => document.querySelector("dialog pre.code"));
        const said = JSON.parse(shell(run, await codeOf(tab, "curl")));
        const value = find ? said.value : said.epsilon.upper;
        assert.ok(value > 0.5, String(value));
        const line = JSON.parse(shell(run, asJson(await codeOf(tab, "Command line"))));
        assert.equal(find ? line.value : line.epsilon.upper, value);
        const program = await codeOf(tab, "Python");
        if (hasPython(bin)) assert.deepEqual(inPython(run, program), [value]);
        isAbove((await shown(tab))[0], value);
      }
      assert.deepEqual(trouble, []);
    },
  ),

  "runs tried are in what is copied": onServer(EMPTY, async ({ server, browser, bin }) => {
    const { page: tab, trouble } = await openPage(browser);
    const run = programs(bin);
    for (const find of [path("queries[0].noiseStddev"), ""]) {
      await tab.goto(`${server.base}/${plan({ [path("count")]: "500", find, trials: "10" })}`);
      await says(tab, "Releasing the best of about 10 such runs");
      const said = jsonOf(shell(run, await codeOf(tab, "curl")));
      const values = [find ? said[0].value : said[0].epsilon.upper, said[1].epsilon.upper];
      isAbove((await shown(tab)).at(-1), values[1]);
      const lines = jsonOf(shell(run, asJson(await codeOf(tab, "Command line"))));
      assert.equal(lines[1].epsilon.upper, values[1]);
      const program = await codeOf(tab, "Python");
      if (hasPython(bin)) assert.deepEqual(inPython(run, program), values);
    }
    assert.deepEqual(trouble, []);
  }),

  "where the server asks who asks, what is copied names a file with a token": onServer(
    { filled: false, flags: ["--identity"] },
    async ({ server, browser, bin }) => {
      const file = join(server.folder, "store.tokens.first-admin");
      const token = readFileSync(file, "utf8").trim();
      server.useToken(token);
      await create(server, "done", declared("data", "patient", { planIndependent: true }));
      await append(server, "done", [rounds(1000, poisson(0.01), 1.2)]);
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/${plan({ epsilon: "2", dataset: "data" })}`);
      await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
      await tab.fill("dialog input[type=password]", token);
      await tab.keyboard.press("Enter");
      await answers(tab, 4);
      const run = programs(bin);
      const named = (code) => code.replace("FILE", file);
      const { value } = JSON.parse(shell(run, named(await codeOf(tab, "curl"))));
      isAbove((await shown(tab))[0], value);
      const line = asJson(named(await codeOf(tab, "Command line")));
      assert.equal(JSON.parse(shell(run, line)).value, value);
      assert.ok(!(await text(tab)).includes(token));
      assert.deepEqual(trouble, []);
    },
  ),

  "a data set is shown with what it has been through, and with the run": onServer(
    EMPTY,
    async ({ server, browser, bin }) => {
      const name = 'o\'clock "data"';
      const done = rounds(1000, poisson(0.01), 1.2);
      await create(server, "done", declared(name, "patient", { planIndependent: true }));
      await append(server, "done", [done]);
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/?open=plan`);
      await field(tab, "Target ε").fill("2");
      await field(tab, "Data set").pressSequentially("clock");
      await until(tab, () => document.querySelectorAll("dialog datalist option").length === 1);
      await field(tab, "Data set").fill(name);
      assert.equal(await field(tab, "Neighbours").count(), 0, "the ledgers declare them");
      await tab.click("dialog button[type=submit]");
      await answers(tab, 4);
      const [noise, total, before, alone] = await shown(tab);
      const planned = (noise) => rounds(1000, { poisson: { probability: 0.01 } }, noise).event;
      const cost = async (...events) => {
        const options = { adjacency: "ADD_OR_REMOVE_ONE", parameters: "FIXED" };
        const question = { subject: { events }, delta: 1e-5, options };
        const { epsilon } = await server.call("AccountingService/ComputeEpsilon", question);
        return epsilon.upper;
      };
      assert.ok(total <= 2.001 && total > 1.99, String(total));
      // Written out, the same rounds cost what the drawer shows.
      isAbove(before, await cost(done.event));
      assert.ok((await cost(done.event, planned(noise))) <= 2);
      assert.ok((await cost(done.event, planned(noise * 0.999))) > 2);
      assert.ok(alone >= (await cost(planned(noise))) && alone < total);
      assert.match(await text(tab), /protects\s+one patient/);
      // Asked elsewhere: the quote in its name is no end of a word.
      const run = programs(bin, { cwd: server.folder });
      assert.ok(shell(run, await codeOf(tab, "Command line")).includes("epsilon"));
      const { value } = JSON.parse(shell(run, await codeOf(tab, "curl")));
      const bundle = join(server.folder, "done.bundle");
      command(bin, "ledger", "export", "done", "--server", server.address, "--output", bundle);
      const program = await codeOf(tab, "Python");
      if (hasPython(bin)) assert.deepEqual(inPython(run, program), [value]);
      isAbove(noise, value);
      assert.deepEqual(trouble, []);
    },
  ),

  "every kind is planned: what it costs, and what keeps it to a target": onServer(
    EMPTY,
    async ({ server, browser, bin }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/?open=plan`);
      await until(tab, () => document.querySelector("dialog .plan-form"));
      const options = (label) => field(tab, label).locator("option").allInnerTexts();
      const kinds = (await options("What is planned")).slice(0, -1);
      assert.ok(kinds.length > 18);
      const [code, values] = [[], []];
      for (const kind of kinds) {
        await tab.goto(`${server.base}/?open=plan`);
        await field(tab, "What is planned").selectOption({ label: kind });
        await field(tab, "Neighbours").selectOption("ZERO_OUT"); // every kind has an answer
        const sought = (await options("Look for")).filter((one) => !/Rounds|often/.test(one));
        for (const find of new Set([sought[0], "its cost"])) {
          await field(tab, "Look for").selectOption({ label: find });
          await tab.click("dialog button[type=submit]");
          await until(tab, () => document.querySelector("dialog .epsilon-block"));
          assert.equal(await tab.locator("dialog [role=alert]").count(), 0, `${kind}, ${find}`);
          const found = await shown(tab);
          assert.ok(found[find === "its cost" ? 0 : 1] > 0, `${kind}, ${find}`);
          if (find !== "its cost") assert.ok(found[1] <= 1, `${kind}, ${find}: ${found}`);
          // The same in Python; all of them are asked at once below.
          const [, request, address] = /'(.*)' '(.*)'/.exec(await codeOf(tab, "curl"));
          const method = address.split("dpledger.v1.")[1];
          const said = await server.call(method, JSON.parse(request));
          values.push(said.value ?? said.epsilon.upper);
          code.push(await codeOf(tab, "Python"));
        }
      }
      const run = programs(bin);
      if (hasPython(bin)) assert.deepEqual(inPython(run, code.join("")), values);
      assert.deepEqual(trouble, []);
    },
  ),

  "other events are written as they are, and what is wrong with them is said": onServer(
    EMPTY,
    async ({ server, browser }) => {
      const { page: tab, trouble } = await openPage(browser);
      await tab.goto(`${server.base}/?open=plan`);
      await field(tab, "What is planned").selectOption({ label: "Other events, as JSON" });
      const ask = async (lines) => {
        await field(tab, "Events, one a line").fill(lines.join("\n"));
        await tab.click("dialog button[type=submit]");
      };
      const gaussian = (noiseMultiplier) =>
        JSON.stringify({ mechanism: { gaussian: { noiseMultiplier } } });
      await ask([]);
      await says(tab, "It must be at least one event.");
      await ask([gaussian(4), "{"]);
      await says(tab, "one JSON object a line, and line 2 is none");
      await ask([gaussian("?"), gaussian("?")]);
      await says(tab, 'one "?" at most, and there are 2');
      await ask(['{"mechanism": {"gaussian": {"sigma": 2}}}']);
      await says(tab, "sigma");
      await ask([gaussian(4), "", gaussian("?")]);
      await answers(tab, 2);
      const [noise, cost] = await shown(tab);
      // Two Gaussians are one whose noise is as if 1/z² were added up.
      const joint = 1 / Math.sqrt(1 / 16 + 1 / noise ** 2);
      assert.ok(cost <= 1 && Math.abs(joint / 3.7303 - 1) < 1e-3, `${noise}: ${joint}`);
      await ask([gaussian(4), gaussian(5)]);
      await answers(tab, 1);
      assert.equal(await field(tab, "Target").count(), 0, "nothing is looked for");
      assert.deepEqual(trouble, []);
    },
  ),
};
