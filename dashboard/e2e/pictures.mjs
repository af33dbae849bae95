// Pictures of every view, light and dark, wide and narrow: node pictures.mjs BIN PAGE OUT [NAME]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openPage, settled } from "./browser.mjs";
import { fill } from "./ledgers.mjs";
import { sleep, startServer } from "./server.mjs";

const [bin, page, out, only] = process.argv.slice(2);
const PLAN = "plan:kind=poisson&epsilon=7&trials=10&dataset=clinic-readmissions";
const VIEWS = {
  datasets: "/",
  dataset: "/dataset?name=adult",
  "dataset-total": "/dataset?name=clinic-readmissions",
  ledgers: "/ledgers",
  ledger: "/ledger/default/adult-logistic-eps1",
  "ledger-night": "/ledger/default/adult-night-run",
  "ledger-refused": "/ledger/default/loan-scoring-search",
  entry: "/ledger/default/adult-logistic-eps1/entry/2",
  verify: "/verify/default/adult-logistic-eps1",
  statement: "/statement?ledger=adult-logistic-eps1",
  recompute: "/recompute",
  activity: "/activity",
  compare: "/ledgers?open=compare:adult-logistic-eps1,adult-mlp-eps2",
  plan: `/ledgers?open=${encodeURIComponent(PLAN)}`,
};
mkdirSync(out, { recursive: true });
const server = await startServer({ bin, page });
const browser = await openBrowser();
try {
  await fill(server);
  await sleep(600);
  let operation;
  for (const method of ["RDP", "BEST"]) {
    operation = await server.call("RecomputeService/StartRecompute", {
      requestId: `pictures-${method}`,
      parent: "projects/-",
      delta: 1e-5,
      options: { method },
    });
    await sleep(1500);
  }
  VIEWS["recompute-one"] = `/recompute/${operation.name.split("/")[1]}`;
  for (const [name, address] of Object.entries(VIEWS)) {
    if (only && !name.startsWith(only)) continue;
    for (const dark of [false, true]) {
      for (const width of [1280, 768, 360]) {
        const { page: tab, context, trouble } = await openPage(browser, { width, dark });
        await tab.goto(server.base + address);
        await settled(tab);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) console.log(`${name} at ${width}: ${wide} px too wide`);
        for (const line of trouble) console.log(`${name}: ${line}`);
        await tab.screenshot({
          path: join(out, `${name}-${dark ? "dark" : "light"}-${width}.png`),
          fullPage: !address.includes("open="),
        });
        await context.close();
      }
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
