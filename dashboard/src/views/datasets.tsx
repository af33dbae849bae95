// Who used our data, at what cost, and what must be acted on.
import { everyPage, jsonAddress, signedIn } from "../api/client";
import type {
  DatasetSummary,
  Ledger,
  ListDatasetsResponse,
  ListLedgersResponse,
} from "../api/types";
import { useCall, useTask } from "../api/use_call";
import { useEffect, useState } from "preact/hooks";
import { generation } from "../live";
import { downloadCsv } from "../parts/download";
import { EpsilonLine, EpsilonWords, Protects, TierNote, upper, type Terms } from "../parts/epsilon";
import { Chip } from "../parts/icon";
import { A, Button, Empty, Failed, Loading, Section, Table, Title } from "../parts/parts";
import { SavedViews } from "../parts/saved_views";
import { serverName } from "../prefix";
import { datasetAddress } from "../router";
import { isOwnDataset } from "../text/filter";
import { Name, said } from "../text/names";
import { grouped, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import { cosigners } from "../text/words";
import { Attention, refusalOf } from "./attention";
import { inOrder, sorted, type Orders } from "./ledger_list";
import { ALL } from "./requests";

export const datasetsJson = () => jsonAddress("LedgerService/ListDatasets", ALL);

// A budget is a ledger over its data set, and no run.
interface Row extends DatasetSummary {
  budgets: Ledger[];
}
const isOpen = ({ state }: Ledger) => state !== "SEALED";
const runsOf = ({ ledgerCount, budgets }: Row) => number(ledgerCount) - budgets.length;
function runsText(row: Row): string {
  const open = number(row.openCount) - row.budgets.filter(isOpen).length;
  const sealed = runsOf(row) - open;
  const parts = [
    sealed && `${grouped(sealed)} sealed`,
    open && `${grouped(open)} open`,
    row.budgets.length && plural(row.budgets.length, "budget"),
  ];
  return parts.filter(Boolean).join(", ") || "none";
}

const termsOf = (dataset: DatasetSummary): Terms => {
  const { delta = 0, unitsOfPrivacy: unit = [], adjacencies = [], regime } = dataset;
  return { delta, unit, adjacency: adjacencies.length === 1 ? adjacencies[0] : undefined, regime };
};
function Together({ of: dataset }: { of: Row }) {
  const { epsilon, largest, budgets } = dataset;
  const ofRun = !budgets.some(({ name }) => name === largest?.ledger);
  if (epsilon) return <EpsilonLine epsilon={epsilon} terms={termsOf(dataset)} whom={false} />;
  const refusal = refusalOf(dataset);
  if (!refusal) return <span class="faint">being worked out</span>;
  const why = said(refusal.message);
  return (
    <span title={why}>
      <strong class="muted">No total</strong>
      {largest?.epsilon && ofRun && runsOf(dataset) > 1 && (
        <>
          ; largest single run with a bound{" "}
          <EpsilonWords epsilon={largest.epsilon} delta={largest.delta} />
        </>
      )}
      <span class="faint">: {why}</span>
    </span>
  );
}

function State({ of: dataset }: { of: DatasetSummary }) {
  const refused = number(dataset.refusedCount);
  const conflicts = number(dataset.conflictCount);
  return (
    <div class="chips">
      {refused > 0 && (
        <Chip shape="refused" tone="bad">
          {refused === 1 ? "ε refused" : `${refused} refused`}
        </Chip>
      )}
      {conflicts > 0 && (
        <Chip shape="attend" tone="warn">
          {plural(conflicts, "conflict")}
        </Chip>
      )}
      {!refused &&
        !conflicts &&
        (number(dataset.openCount) ? (
          <Chip shape="open" tone="info">
            open
          </Chip>
        ) : (
          <Chip shape="sealed">sealed</Chip>
        ))}
    </div>
  );
}

const LONGEST_NAME = 24; // what its column has room for
const cells = (dataset: Row) => [
  <A href={datasetAddress(dataset.name)}>
    <Name of={dataset.name} longest={LONGEST_NAME} />
  </A>,
  <State of={dataset} />,
  runsText(dataset),
  <Protects of={termsOf(dataset)} />,
  <Together of={dataset} />,
  <Time of={dataset.lastEntryTime} day />,
];

// Of each order that the address may ask for, what is compared.
const weight = (one: DatasetSummary) =>
  number(one.refusedCount) ? 0 : refusalOf(one) || number(one.conflictCount) ? 1 : 2;
const ORDERS: Orders<Row> = {
  attention: weight,
  name: ({ name }) => name,
  runs: runsOf,
  unit: ({ unitsOfPrivacy: units = [] }) => units.join(),
  epsilon: ({ epsilon }) => epsilon && upper(epsilon),
  last: ({ lastEntryTime }) => lastEntryTime,
};
const csvRow = (one: Row) => ({
  dataset: one.name,
  units_of_privacy: (one.unitsOfPrivacy ?? []).join("; "),
  adjacencies: (one.adjacencies ?? []).join("; "),
  ledgers: one.ledgerCount ?? "0",
  budgets: one.budgets.length,
  open: one.openCount ?? "0",
  epsilon_lower: one.epsilon && (one.epsilon.lower ?? 0),
  epsilon_upper: one.epsilon && (one.epsilon.upper ?? 0),
  delta: one.delta,
  regime: one.epsilon && one.regime,
  refusal: one.refusal?.reason,
});

const PENDING_MS = 3000;
const isPending = (datasets: DatasetSummary[]) =>
  datasets.some(({ refusal }) => refusal?.reason === "UNDER_WAY");
const FIRST = 5; // of what needs attention, until the reader wants more
const MOST = 1000;
export function Datasets() {
  // What is still worked out changes no ledger when it is known: it is asked for again.
  const [rounds, setRounds] = useState(0);
  const version = `${generation.value} ${rounds}`;
  const { data: all, error } = useTask(
    async (signal) => {
      const found: DatasetSummary[] = [];
      const take = ({ datasets = [] }: ListDatasetsResponse) => found.push(...datasets);
      await everyPage("LedgerService/ListDatasets", ALL, take, signal);
      const budgets: Ledger[] = [];
      const takeBudgets = ({ ledgers = [] }: ListLedgersResponse) => budgets.push(...ledgers);
      const request = { ...ALL, filter: "kind = BUDGET" };
      await everyPage("LedgerService/ListLedgers", request, takeBudgets, signal);
      const over = (name: string | undefined) => (ledger: Ledger) =>
        ledger.declaration?.dataset === name;
      return found
        .filter((one) => !isOwnDataset(one.name))
        .map((one): Row => ({ ...one, budgets: budgets.filter(over(one.name)) }));
    },
    [version, signedIn.value],
  );
  const [pageSize, setPageSize] = useState(FIRST);
  const listed = useCall("LedgerService/ListAttention", { ...ALL, pageSize }, version);
  const { note } = useCall("AuditService/GetCheckpoint", {}).data ?? {};
  const datasets = all ?? [];
  const pending = isPending(datasets) || number(listed.data?.unexamined) > 0;
  useEffect(() => {
    const timer = pending && setTimeout(() => setRounds((n) => n + 1), PENDING_MS);
    return () => clearTimeout(timer || undefined);
  }, [pending, all, listed.data]);
  const total = datasets.reduce((sum, one) => sum + number(one.ledgerCount), 0);
  const counts = [plural(total, "ledger"), plural(datasets.length, "data set")];
  const what = "What was learned from each data set";
  return (
    <div class="wide">
      <Title
        title="Data sets"
        about={
          all
            ? `${what}, by all on this server that you may list: ${counts.join(", ")}.`
            : `${what}.`
        }
        actions={
          <>
            <SavedViews />
            <Button
              disabled={!datasets.length}
              onClick={() => downloadCsv("datasets", datasets.map(csvRow))}
            >
              CSV
            </Button>
            <A class="button primary" href="/statement">
              Write a statement
            </A>
          </>
        }
      />
      {error && <Failed error={error} what="the data sets" />}
      {!all && !error && <Loading what="the data sets" />}
      {all && datasets.length === 0 && (
        <Empty title="No data set yet">
          A ledger names the data set that its run touches. A trainer that records its rounds makes
          one: <code>dp_sgd --server {serverName()} --ledger first --target-epsilon 1</code>
        </Empty>
      )}
      {all && (
        <Attention
          of={listed.data ?? {}}
          witnessed={note === undefined || cosigners(note).length > 0}
          again={listed.again}
          more={pageSize < MOST ? () => setPageSize(MOST) : undefined}
        />
      )}
      {datasets.length > 0 && (
        <Section title="All data sets">
          <Table
            class="lines"
            columns={[
              { ...sorted("Data set", "name", "attention"), class: "main", width: 200 },
              { ...sorted("State", "attention", "attention"), width: 110 },
              { ...sorted("Runs", "runs", "attention"), width: 132 },
              { ...sorted("Unit and neighbours", "unit", "attention"), width: 195 },
              {
                ...sorted("All runs together, if all is seen", "epsilon", "attention"),
                width: 373,
              },
              { ...sorted("Last entry", "last", "attention"), width: 112 },
            ]}
            rows={inOrder(datasets, ORDERS, "attention").map((one) => ({
              key: one.name,
              cells: cells(one),
            }))}
          />
          <TierNote />
        </Section>
      )}
      <p class="footnote">
        <A href="/ledgers?own=1">The server’s own ledgers</A> are none of these.
      </p>
    </div>
  );
}
