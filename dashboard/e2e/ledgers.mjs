// Fills a server with ledgers of every kind that the page must show.
import { sleep } from "./server.mjs";

let requests = 0;
const requestId = () => `e2e-${process.pid}-${++requests}`;
export const nameOf = (id) => (id.includes("/") ? id : `projects/default/ledgers/${id}`);

export const declared = (dataset, unitOfPrivacy, more = {}) => ({
  dataset,
  unitOfPrivacy,
  adjacency: "ADD_OR_REMOVE_ONE",
  parameters: "FIXED",
  released: "all iterates",
  ...more,
});
export const create = (server, id, declaration) =>
  server.call("LedgerService/CreateLedger", {
    name: nameOf(id),
    requestId: requestId(),
    declaration,
  });

export async function append(server, id, entries, writer = "trainer", more = {}) {
  for (let first = 0; first < entries.length; first += 5000) {
    await server.call("LedgerService/AppendBatch", {
      ledger: nameOf(id),
      writer,
      requestId: requestId(),
      entries: entries.slice(first, first + 5000),
      ...more,
    });
  }
}

const gradient = (noise) => ({
  group: "gradient",
  l2NormBound: Math.floor(16777216 / noise),
  noiseStddev: 16777216,
  noise: "ROUNDED_GAUSSIAN",
  grid: 8.383e-8,
});
export const steps = (first, count, scheme, noise) =>
  Array.from({ length: count }, (_, i) => [
    { event: { sampling: { round: String(first + i), scheme } } },
    { event: { sumQuery: { round: String(first + i), query: gradient(noise) } } },
  ]).flat();
export const poisson = (probability, populationSize = "26015") => ({
  populationSize,
  poisson: { probability },
});
export const rounds = (count, scheme, noise, group = "gradient") => ({
  event: {
    rounds: {
      scheme,
      queries: [{ group, l2NormBound: 1, noiseStddev: noise }],
      count: String(count),
    },
  },
});
export const gaussian = (noiseMultiplier) => ({
  event: { mechanism: { gaussian: { noiseMultiplier } } },
});
export const opened = (incarnation, more = {}) => ({ opened: { incarnation, ...more } });
const closed = (entryCount) => ({ writerClosed: { entryCount: String(entryCount) } });

// Returns what tests must know of them.
export async function fill(server) {
  await create(
    server,
    "adult-logistic-eps1",
    declared("adult", "example", {
      plannedRounds: "1017",
      description:
        "DP-SGD, multinomial logistic regression, 272 parameters, learning rate 0.5, clip norm " +
        "1, expected batch size 256",
    }),
  );
  await append(server, "adult-logistic-eps1", [
    ...steps(0, 1017, poisson(0.00984), 1.4065),
    closed(2035),
  ]);

  await create(server, "adult-mlp-eps2", declared("adult", "example", { plannedRounds: "500" }));
  await append(server, "adult-mlp-eps2", [
    ...steps(0, 250, poisson(0.00984), 0.9),
    ...steps(250, 250, poisson(0.00984), 0.8),
    closed(1001),
  ]);

  await create(
    server,
    "adult-sealed-v1",
    declared("adult", "example", { released: "final model" }),
  );
  await append(server, "adult-sealed-v1", [rounds(200, poisson(0.01), 1.5), closed(2)]);
  await server.call("LedgerService/SealLedger", {
    name: nameOf("adult-sealed-v1"),
    requestId: requestId(),
  });

  await create(
    server,
    "adult-night-run",
    declared("adult", "example", { plannedRounds: "40649", spoolPolicy: "SPOOL" }),
  );
  await append(
    server,
    "adult-night-run",
    [opened("night-1"), ...steps(0, 3116, poisson(0.00984), 0.6)],
    "trainer",
    { incarnation: "night-1" },
  );
  await append(
    server,
    "adult-night-run",
    [opened("night-2", { previous: "night-1", reason: "restarted after a power cut" })],
    "trainer",
    { incarnation: "night-2" },
  );

  await create(
    server,
    "loan-scoring-search",
    declared("loan-applications", "applicant", { parameters: "ADAPTIVE" }),
  );
  await append(server, "loan-scoring-search", [
    rounds(100, poisson(0.02), 1.1),
    rounds(80, poisson(0.02), 0.8),
  ]);

  const patients = { adjacency: "REPLACE_ONE", planIndependent: true };
  await create(server, "readmission-risk-v3", declared("clinic-readmissions", "patient", patients));
  await append(server, "readmission-risk-v3", [rounds(900, poisson(0.01), 0.75)]);
  await create(server, "readmission-risk-v4", declared("clinic-readmissions", "patient", patients));
  await append(server, "readmission-risk-v4", [rounds(600, poisson(0.01), 0.8)]);

  const users = { adjacency: "ZERO_OUT", planIndependent: true };
  for (const [id, noise] of [
    ["keyboard-emoji", 4],
    ["keyboard-next-word-2026-09", 9],
    ["keyboard-next-word-2026-10", 8],
  ]) {
    await create(server, id, declared("keyboard-usage", "user", users));
    await append(server, id, [gaussian(noise), { note: { text: "released to the test group" } }]);
  }

  await create(
    server,
    "synthetic-first-try",
    declared("synthetic", "example", { planIndependent: true }),
  );
  await append(server, "synthetic-first-try", [
    rounds(1000, poisson(0.0123), 1.02),
    { note: { text: "first try of the pipeline" } },
    { correction: { correctedSequence: "2", text: "it was the second try" } },
    closed(4),
  ]);

  await create(
    server,
    "budgeted-queries",
    declared("synthetic", "example", {
      parameters: "ADAPTIVE",
      filter: { zcdp: { rho: 0.5 } },
      planIndependent: true,
    }),
  );
  await append(server, "budgeted-queries", [gaussian(4), gaussian(5), gaussian(3)]);

  await server.call("LedgerService/ForkLedger", {
    parent: nameOf("adult-mlp-eps2"),
    parentSize: "501",
    name: nameOf("adult-mlp-fine-tune"),
    requestId: requestId(),
    reason: "fine-tuning",
  });
  await append(server, "adult-mlp-fine-tune", steps(0, 60, poisson(0.00984), 1.2));
}

// How many of them have an ε.
async function withCost(server) {
  let [count, pageToken] = [0, ""];
  do {
    const request = {
      parent: "projects/-",
      pageSize: 1000,
      filter: 'epsilon:* AND name:"/run-"',
      pageToken,
    };
    const answer = await server.call("LedgerService/ListLedgers", request);
    count += answer.ledgers?.length ?? 0;
    pageToken = answer.nextPageToken ?? "";
  } while (pageToken);
  return count;
}
// Runs of four data sets, whose noise goes down: the last costs most.
export async function many(server, count) {
  for (let first = 0; first < count; first += 20) {
    const ids = Array.from({ length: Math.min(20, count - first) }, (_, k) => first + k);
    await Promise.all(
      ids.map(async (i) => {
        const id = `run-${String(i).padStart(4, "0")}`;
        await create(server, id, declared(`set-${i % 4}`, "example", { planIndependent: true }));
        await append(server, id, [rounds(100, poisson(0.01), 4 - (3 * i) / count)]);
      }),
    );
  }
  for (let left = 600; left; left--) {
    if ((await withCost(server)) === count) return;
    await sleep(100);
  }
  throw new Error("the server has not worked out the cost of all");
}
