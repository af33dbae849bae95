// Other ledgers, for a server to have beside those of a case: finished runs over 250 data sets, of
// which half share the cases' project, where their names come first in every list.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { append, create, declared, poisson, rounds } from "./ledgers.mjs";
import { sleep, startServer } from "./server.mjs";

// How many, unless a case says so itself.
export const OTHERS = Number(process.env.DPLEDGER_E2E_OTHERS ?? 0);
const DATASETS = 250;
const NOISES = 50; // an answer is worked out once for each
const TOGETHER = 20;

async function add(server, i) {
  const id = `projects/${i % 2 ? "default" : "archive"}/ledgers/2024-${String(i).padStart(6, "0")}`;
  const dataset = `archive-${i % DATASETS}`;
  await create(server, id, declared(dataset, "example", { planIndependent: true }));
  await append(server, id, [
    rounds(100, poisson(0.01), 1 + (i % NOISES) / NOISES),
    { writerClosed: { entryCount: "2" } },
  ]);
}
async function make(count, { bin, page }) {
  const server = await startServer({ bin, page });
  try {
    for (let first = 0; first < count; first += TOGETHER)
      await Promise.all(
        Array.from({ length: Math.min(TOGETHER, count - first) }, (_, k) => add(server, first + k)),
      );
    const pending = { parent: "projects/-", pageSize: 1, filter: "NOT epsilon:*" };
    for (let left = 6000; ; left--) {
      const { ledgers = [] } = await server.call("LedgerService/ListLedgers", pending);
      if (!ledgers.length) break;
      if (!left) throw new Error("the server has not worked out the cost of all");
      await sleep(100);
    }
  } finally {
    await server.stop({ keep: true });
  }
  process.once("exit", () => rmSync(server.folder, { recursive: true, force: true }));
  return server.folder;
}

// Over how many data sets they are, and a reader's filter for the ledgers that are none of them.
export const datasetsOf = (others) => Math.min(others, DATASETS);
export const NO_OTHERS = 'NOT dataset:"archive-"';

const made = new Map();
/** A folder for a server that has so many others: a copy, since they are made once a run. */
export async function folderWith(count, at) {
  const folder = mkdtempSync(join(tmpdir(), "dpledger-page-"));
  if (count) {
    if (!made.has(count)) made.set(count, make(count, at));
    cpSync(await made.get(count), folder, { recursive: true });
  }
  return folder;
}
