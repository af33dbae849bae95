// The ledgers of an organisation with seven teams: 76 over 20 data sets, of every kind that an
// auditor meets, some of them wrong on purpose.
import {
  append,
  create,
  declared,
  gaussian,
  nameOf,
  opened,
  poisson,
  rounds,
  steps,
} from "./ledgers.mjs";

const FREE = { planIndependent: true };
const in_ = (project, id) => `projects/${project}/ledgers/${id}`;
const two = (n) => String(n).padStart(2, "0");
const closed = (entryCount) => ({ writerClosed: { entryCount: String(entryCount) } });
const mechanism = (kind) => ({ event: { mechanism: kind } });
const numbers = (count) => Array.from({ length: count }, (_, i) => i + 1);
// { id, dataset, unit, more (of its declaration), entries, sealed }
const run = (id, dataset, unit, more, entries, sealed = false) => ({
  id,
  declaration: declared(dataset, unit, { ...FREE, ...more }),
  entries,
  sealed,
});

const marketing = numbers(12).map((month) =>
  run(
    in_("marketing", `churn-2025-${two(month)}`),
    "crm-customers",
    "customer",
    { plannedRounds: "1200", description: `Churn, month ${month} of 2025` },
    [rounds(1200, poisson(0.004, "310000"), 0.9 + month / 40), closed(2)],
    true,
  ),
);
const health = numbers(6).map((version) =>
  run(
    in_("health", `readmission-risk-v${version}`),
    "clinic-readmissions",
    "patient",
    { adjacency: "REPLACE_ONE" },
    [rounds(700 + 50 * version, poisson(0.01, "18250"), 0.75 + version / 50), closed(2)],
    version < 5,
  ),
);
const TREE = { steps: "2048", participation: { maxParticipations: "4", minSeparation: "400" } };
const keyboard = numbers(6).map((month) =>
  run(
    in_("keyboard", `next-word-2026-${two(month)}`),
    "keyboard-usage",
    "user",
    { adjacency: "ZERO_OUT", released: "the model of every round" },
    [
      mechanism({ matrixMechanism: { tree: TREE, noiseStddev: 4 + month } }),
      { note: { text: "released to the test group" } },
    ],
  ),
);
const loan = (id, more, entries) =>
  run(in_("risk", id), "loan-applications", "applicant", more, entries);
const ADAPTIVE = { parameters: "ADAPTIVE", planIndependent: false };
const risk = [
  loan("search", ADAPTIVE, [rounds(100, poisson(0.02), 1.1), rounds(80, poisson(0.02), 0.8)]),
  loan("filtered", { ...ADAPTIVE, filter: { zcdp: { rho: 0.5 } } }, [
    gaussian(4),
    gaussian(5),
    gaussian(3),
  ]),
  loan("report", {}, [
    gaussian(2),
    { correction: { correctedSequence: "1", text: "sigma was really 0.3" } },
  ]),
];
const clicks = numbers(4).map((i) =>
  run(in_("ads", `ctr-${i}`), "ads-clicks", i % 2 ? "user" : "click", {}, [
    rounds(400, poisson(0.001, "9000000"), 0.6),
  ]),
);
const seen = (id, entry) =>
  run(in_("ads", id), "ads-impressions", "user", { adjacency: "ZERO_OUT" }, [entry]);
const EPOCHS = { populationSize: "100000" };
const ads = [
  ...clicks,
  seen("allocated", rounds(2000, { ...EPOCHS, randomAllocation: { roundsPerEpoch: "200" } }, 1)),
  seen("shuffled", rounds(2000, { ...EPOCHS, disjointBatches: { batchesPerEpoch: "200" } }, 2)),
  seen("raw-dump", mechanism({ nonPrivate: {} })),
  run(in_("ads", "black-box"), "ads-vendor", "user", { adjacency: "ZERO_OUT" }, [
    mechanism({ unsupported: { description: "no parameters are given" } }),
  ]),
];
const names = [
  ["l".repeat(60), "customer-interactions-".repeat(9), "customer"],
  ["arabic", "بيانات المرضى ٢٠٢٦", "مريض"],
  ["japanese", "病院データ", "患者"],
  ["turned", "patients\u202Eelif.csv", "us\u200Ber"],
  ["markup", "<img src=x onerror=alert(1)>", "<script>alert(2)</script>"],
  ["formula", '=HYPERLINK("http://evil.example","x")', "@SUM(1)"],
].map(([id, dataset, unit]) => run(in_("names", id), dataset, unit, {}, [gaussian(3)]));
const alike = ["MNIST", "mnist", "mnist "].map((dataset, i) => ({
  ...run(in_("images", `digits-${i}`), dataset, "example", {}, [rounds(1000, poisson(0.004), 1.1)]),
  newDataset: true,
}));
const vision = numbers(24).map((i) =>
  run(
    in_("vision", `sweep-${two(i)}`),
    i > 12 ? "street-scenes-2" : "street-scenes",
    "image",
    { plannedRounds: "2000" },
    [
      rounds(200 * (1 + (i % 10)), poisson(0.005, "120000"), 0.7 + i / 20),
      ...(i % 3 ? [closed(2)] : []),
    ],
    i % 4 === 1,
  ),
);
const RUNS = [...marketing, ...health, ...keyboard, ...risk, ...ads, ...names, ...alike, ...vision];

/** Fills a server; returns how many ledgers it made. */
export async function organise(server) {
  let requests = 0;
  const requestId = () => `organisation-${++requests}`;
  const seal = (name, more = {}) =>
    server.call("LedgerService/SealLedger", { name, requestId: requestId(), ...more });
  for (const { id, declaration, entries, sealed, newDataset } of RUNS) {
    await server.call("LedgerService/CreateLedger", {
      name: id,
      requestId: requestId(),
      declaration,
      newDataset,
    });
    await append(server, id, entries);
    if (sealed) await seal(id, { openWritersAreMissing: true });
  }
  let count = RUNS.length;
  const made = async (id, declaration) => {
    await create(server, id, declaration);
    count += 1;
  };
  // Plans that looked at one another, a night that broke off, workers that never closed, forks.
  await made("adult-logistic", declared("adult", "example", { plannedRounds: "1017" }));
  await append(server, "adult-logistic", [...steps(0, 1017, poisson(0.00984, "26015"), 1.4065)]);
  await made("adult-mlp", declared("adult", "example"));
  await append(server, "adult-mlp", steps(0, 500, poisson(0.00984), 0.9));
  await made("adult-night", declared("adult", "example", { spoolPolicy: "SPOOL" }));
  for (const [incarnation, entry] of [
    ["night-1", opened("night-1")],
    ["night-2", opened("night-2", { reason: "a power cut" })],
  ])
    await append(server, "adult-night", [entry, ...steps(0, 20, poisson(0.01), 0.6)], "trainer", {
      incarnation,
    });
  await made("adult-workers", declared("adult", "example"));
  for (const worker of ["worker-0", "worker-1"])
    await append(server, "adult-workers", steps(0, 20, poisson(0.01), 1.1), worker);
  await seal(nameOf("adult-workers"), { openWritersAreMissing: true });
  for (const [parent, parentSize, child] of [
    ["adult-mlp", "501", "adult-fine"],
    ["adult-fine", "21", "adult-finer"],
  ]) {
    await server.call("LedgerService/ForkLedger", {
      parent: nameOf(parent),
      parentSize,
      name: nameOf(child),
      requestId: requestId(),
      reason: "fine-tuning",
    });
    await append(server, child, steps(0, 60, poisson(0.00984), 1.2));
    count += 1;
  }
  // A budget, and a run that it holds.
  const mixture = { epsilon: 8, delta: 1e-6, orders: [2, 4, 8, 16, 32] };
  const bounded = (more) => declared("visits", "patient", { ...ADAPTIVE, ...more });
  await made("visits-budget", bounded({ kind: "BUDGET", filter: { mixture } }));
  await made("visits-run", bounded({ budget: nameOf("visits-budget") }));
  await server.call("LedgerService/GrantBudget", {
    budget: nameOf("visits-budget"),
    ledger: nameOf("visits-run"),
    requestId: requestId(),
    plan: [rounds(1000, poisson(0.01), 1.1).event],
  });
  return count;
}
