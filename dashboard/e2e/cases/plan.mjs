// The drawer of plans: numbers as people type them, and its question asked from elsewhere.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../browser.mjs";
import { onServer, until } from "../case.mjs";

const EMPTY = { filled: false };
const field = (tab, label) =>
  tab.locator("dialog label.field", { hasText: label }).locator("input");

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
        ["epsilon", "delta", "sampling", "steps"].map((name) => inputs.get(name)),
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
      const shown = await tab.evaluate(() => document.querySelector("dialog .epsilon").innerText);
      const noise = Number(/([\d.]+)/.exec(shown)[1]);
      const found = answer.noiseMultiplier;
      assert.ok(noise >= found && noise < found * 1.0001, `${shown} for ${found}`);
      assert.deepEqual(trouble, []);
    },
  ),

  "the question can be copied, and gives the same number from everywhere": onServer(
    EMPTY,
    async ({ server, browser, bin }) => {
      const { page: tab, trouble } = await openPage(browser);
      const python = join(bin, "../../../python");
      const env = {
        ...process.env,
        PATH: `${bin}:${process.env.PATH}`,
        PYTHONPATH: python,
        PYTHONDONTWRITEBYTECODE: "1",
        DPLEDGER_LIBRARY_PATH: join(bin, "../lib"),
      };
      const run = (program, words, input) =>
        execFileSync(program, words, { encoding: "utf8", env, input, stdio: "pipe" });
      for (const [solve, name] of [
        ["noise", "noiseMultiplier"],
        ["cost", "epsilon"],
      ]) {
        const inputs = "epsilon=1.5&noise=1.1&delta=0.000001&sampling=0.02&steps=500";
        const plan = `plan:solve=${solve}&${inputs}`;
        await tab.goto(`${server.base}/?open=${encodeURIComponent(plan)}`);
        await until(tab, () => document.querySelector("dialog pre.code"));
        const code = async (kind) => {
          await tab.click(`dialog .actions button >> text=${kind}`);
          await until(
            tab,
            (kind) => document.querySelector("pre.code").ariaLabel === `The question as ${kind}`,
            kind,
          );
          return tab.evaluate(() => document.querySelector("pre.code").textContent);
        };
        const said = JSON.parse(run("sh", ["-c", await code("curl")]));
        const value = name === "epsilon" ? said.epsilon.upper : said[name];
        assert.ok(value > 0.5 && value < 5, String(value));
        const line = JSON.parse(run("sh", ["-c", `${(await code("Command line")).trim()} --json`]));
        assert.equal(name === "epsilon" ? line.epsilon.upper : line[name], value);
        const program = await code("Python");
        if (existsSync(join(python, "dpledger")) && existsSync("/usr/bin/python3"))
          assert.equal(Number(run("/usr/bin/python3", ["-"], program)), value);
        const shown = await tab.evaluate(() => document.querySelector("dialog .epsilon").innerText);
        const number = Number(/([\d.]+)/.exec(shown)[1]);
        assert.ok(number >= value && number < value * 1.001, `${shown} for ${value}`);
      }
      assert.deepEqual(trouble, []);
    },
  ),
};
