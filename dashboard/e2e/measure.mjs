// The figures of docs/dashboard.md: node e2e/measure.mjs BIN PAGE [LEDGERS [ENTRIES]], in the
// folder that build.mjs made. Beside each stands what the browser and the server used of the
// processors, because the machine may have other work.
import { readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { openBrowser, openPage } from "./browser.mjs";
import { append, create, declared, poisson, rounds, steps } from "./ledgers.mjs";
import { sleep, startServer } from "./server.mjs";

const [bin, page, count = "10000", entries = "1000000"] = process.argv.slice(2);
// Seconds of processor time of this process's children and theirs, by program.
function used() {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      all.set(pid, {
        parent: fields[1],
        program: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
        seconds: (Number(fields[11]) + Number(fields[12])) / 100,
      });
    } catch {
      /* it has ended */
    }
  }
  const sums = { browser: 0, server: 0 };
  for (const [pid, { program, seconds }] of all) {
    let at = pid;
    while (all.has(at) && at !== String(process.pid)) at = all.get(at).parent;
    if (at === String(process.pid) && pid !== at)
      sums[program.startsWith("dpledger") ? "server" : "browser"] += seconds;
  }
  return sums;
}
async function timed(what, body) {
  const before = used();
  const start = Date.now();
  const said = await body(start);
  const after = used();
  const took = (program) => `${program} ${(after[program] - before[program]).toFixed(2)} s`;
  const load = `load ${loadavg()[0].toFixed(1)}`;
  console.log(`${what}: ${said}; ${took("browser")}, ${took("server")} of processor time, ${load}`);
}

const browser = await openBrowser();
const server = await startServer({ bin, page });
try {
  for (let i = 0; i < Number(count); i += 20) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, k) => {
        const id = `run-${String(i + k).padStart(5, "0")}`;
        await create(
          server,
          id,
          declared(`set-${(i + k) % 100}`, "example", { planIndependent: true }),
        );
        await append(server, id, [rounds(1000, poisson(0.01), 1 + ((i + k) % 50) / 50)]);
      }),
    );
  }
  await sleep(5000);
  for (const address of ["/ledgers", "/"]) {
    const { page: tab, context } = await openPage(browser);
    await timed(`${count} ledgers, ${address}`, async (start) => {
      await tab.goto(server.base + address);
      await tab.waitForFunction(
        () => document.querySelectorAll("tbody tr").length > 50,
        undefined,
        { timeout: 60000 },
      );
      const usable = Date.now() - start;
      const paint = await tab.evaluate(
        () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
      );
      const rows = await tab.evaluate(() => document.querySelectorAll("tbody tr").length);
      const painted = `first contentful paint ${Math.round(paint)} ms`;
      return `usable after ${usable} ms, ${rows} rows, ${painted}`;
    });
    await context.close();
  }
  await create(server, "long", declared("long", "example"));
  for (let first = 0; first < Number(entries) / 2; first += 10000)
    await append(
      server,
      "long",
      steps(first, Math.min(10000, Number(entries) / 2 - first), poisson(0.01), 1),
    );
  await sleep(8000);
  for (let i = 0; i < 2; i++) {
    const { page: tab, context } = await openPage(browser);
    await timed("verified", async () => {
      await tab.goto(`${server.base}/verify/default/long`);
      await tab.waitForFunction(
        () => document.querySelectorAll("[data-check]").length === 8,
        undefined,
        { timeout: 120000 },
      );
      return tab.evaluate(() =>
        [...document.querySelectorAll(".verdict-title, [data-check] .took, .section-head .side")]
          .map((one) => one.textContent)
          .join(" | "),
      );
    });
    await context.close();
  }
  const { page: tab } = await openPage(browser);
  await tab.goto(`${server.base}/ledger/default/long`);
  await tab.waitForFunction(() => document.querySelector(".long-row"), undefined, {
    timeout: 60000,
  });
  await tab.evaluate(() => document.querySelector(".long-box").scrollIntoView());
  const frames = await tab.evaluate(async () => {
    const box = document.querySelector(".long-box");
    const times = [];
    for (let i = 0, before = performance.now(); i < 120; i++) {
      box.dispatchEvent(new WheelEvent("wheel", { deltaY: 300, cancelable: true }));
      if (i % 30 === 0) box.scrollTop = (box.scrollHeight * i) / 120;
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - before);
      before = performance.now();
    }
    return times.sort((a, b) => a - b);
  });
  await tab.evaluate(() => {
    const box = document.querySelector(".long-box");
    box.focus();
  });
  await tab.keyboard.press("End");
  await sleep(1500);
  const [p50, p99, most] = [60, 118, 119].map((i) => frames[i].toFixed(1));
  const last = await tab.evaluate(
    () => [...document.querySelectorAll(".long-row .num")].at(-1).textContent,
  );
  const load = `load ${loadavg()[0].toFixed(1)}`;
  console.log(`${load}, frames: p50 ${p50} p99 ${p99} max ${most} ms; last row: ${last}`);
} finally {
  await browser.close();
  await server.stop();
}
