// Who used our data, at what cost, and what must be acted on.
import { jsonAddress } from "../api/client";
import type { DatasetSummary } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { downloadCsv } from "../parts/download";
import { EpsilonCell, EpsilonWords, TierNote } from "../parts/epsilon";
import { Chip } from "../parts/icon";
import { A, Awaited, Button, Card, Empty, Notice, Section, Table, Title } from "../parts/parts";
import { serverName } from "../prefix";
import { datasetAddress } from "../router";
import { Name, OrNames, said } from "../text/names";
import { grouped, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import { cosignatures } from "../text/words";
import { attention, refusalOf } from "./attention";
import { ALL } from "./requests";

export const datasetsJson = () => jsonAddress("LedgerService/ListDatasets", ALL);

function runsText({ ledgerCount, openCount }: DatasetSummary): string {
  const open = number(openCount);
  const sealed = number(ledgerCount) - open;
  const parts = [sealed && `${grouped(sealed)} sealed`, open && `${grouped(open)} open`];
  return parts.filter(Boolean).join(", ") || "none";
}

function Together({ of: dataset }: { of: DatasetSummary }) {
  const { epsilon, delta = 0, unitsOfPrivacy: unit = [], adjacencies = [], regime } = dataset;
  const adjacency = adjacencies.length === 1 ? adjacencies[0] : undefined;
  if (epsilon) return <EpsilonCell epsilon={epsilon} terms={{ delta, unit, adjacency, regime }} />;
  const refusal = refusalOf(dataset);
  if (!refusal) return <span class="faint">not known yet</span>;
  const { largest } = dataset;
  return (
    <div class="epsilon-cell">
      <strong class="muted">No total can be given</strong>
      <small class="clamp">{said(refusal.message)}</small>
      {largest?.epsilon && (
        <small>
          largest single run: <EpsilonWords epsilon={largest.epsilon} delta={largest.delta} />
        </small>
      )}
    </div>
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

const cells = (dataset: DatasetSummary) => [
  <>
    <A href={datasetAddress(dataset.name)}>
      <Name of={dataset.name} />
    </A>
    <small>
      one record is one <OrNames of={dataset.unitsOfPrivacy ?? []} />
    </small>
  </>,
  <span>{runsText(dataset)}</span>,
  <Together of={dataset} />,
  <Time of={dataset.lastEntryTime} />,
  <State of={dataset} />,
];

const csvRow = (one: DatasetSummary) => ({
  dataset: one.name,
  units_of_privacy: (one.unitsOfPrivacy ?? []).join("; "),
  adjacencies: (one.adjacencies ?? []).join("; "),
  ledgers: one.ledgerCount ?? "0",
  open: one.openCount ?? "0",
  epsilon_lower: one.epsilon && (one.epsilon.lower ?? 0),
  epsilon_upper: one.epsilon && (one.epsilon.upper ?? 0),
  delta: one.delta,
  regime: one.epsilon && one.regime,
  refusal: one.refusal?.reason,
});

const MOST_ITEMS = 12;
export function Datasets() {
  const version = generation.value;
  const listed = useCall("LedgerService/ListDatasets", ALL, version);
  const ledgers = useCall("LedgerService/ListLedgers", ALL, version).data ?? {};
  const { note } = useCall("AuditService/GetCheckpoint", {}).data ?? {};
  const datasets = listed.data?.datasets ?? [];
  const items = attention(datasets, ledgers, note === undefined || cosignatures(note) > 0);
  const weight = (one: DatasetSummary) =>
    number(one.refusedCount) ? 0 : refusalOf(one) || number(one.conflictCount) ? 1 : 2;
  const sorted = [...datasets].sort((a, b) => weight(a) - weight(b));
  const counts = [
    `${plural(ledgers.ledgers?.length ?? 0, "ledger")}${ledgers.nextPageToken ? " and more" : ""}`,
    plural(datasets.length, "data set"),
  ];
  const what = "What was learned from each data set";
  return (
    <>
      <Title
        title="Data sets"
        about={
          listed.data
            ? `${what}, by everything recorded on this server: ${counts.join(", ")}.`
            : `${what}.`
        }
        actions={
          <>
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
      <Awaited of={listed} what="the data sets" />
      {listed.data && datasets.length === 0 && (
        <Empty title="No data set yet">
          A ledger names the data set that its run touches. A trainer that records its rounds makes
          one: <code>dp_sgd --server {serverName()} --ledger first --target-epsilon 1</code>
        </Empty>
      )}
      {listed.data && items.length > 0 && (
        <Card
          flush
          title={
            <>
              Needs attention <span class="faint">{items.length}</span>
            </>
          }
        >
          {items.slice(0, MOST_ITEMS).map(({ href, link, text, ...item }, i) => (
            <Notice key={i} {...item} action={<A href={href}>{link}</A>}>
              {text}
            </Notice>
          ))}
          {items.length > MOST_ITEMS && (
            <p class="footnote" style="padding: 8px 20px">
              and {items.length - MOST_ITEMS} more: filter the ledgers for them
            </p>
          )}
        </Card>
      )}
      {datasets.length > 0 && (
        <Section title="All data sets" side="Order: attention, then name">
          <Table
            class="datasets"
            columns={[
              { label: "Data set", class: "main" },
              "Runs",
              { label: "Together", head: "All runs together, if every model and answer is seen" },
              "Last entry",
              "State",
            ]}
            rows={sorted.map((dataset) => ({ key: dataset.name, cells: cells(dataset) }))}
          />
          <TierNote />
        </Section>
      )}
    </>
  );
}
