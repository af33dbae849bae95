// Who used our data, at what cost, and what must be acted on.
import { jsonAddress } from "../api/client";
import type { DatasetSummary, Ledger, LedgerSummary } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { EpsilonCell, EpsilonWords, TierNote } from "../parts/epsilon";
import { Chip, type Shape, type Tone } from "../parts/icon";
import { A, Card, csvOf, download, Empty, Failed, Loading, Notice, Section, Title } from "../parts/parts";
import { datasetAddress, ledgerAddress } from "../router";
import { lookalike, Name, said, shortName } from "../text/names";
import { count, grouped, plural } from "../text/numbers";
import { Time } from "../text/time";

const REQUEST = { parent: "projects/-", pageSize: 1000 };
export const datasetsJson = () => jsonAddress("LedgerService/ListDatasets", REQUEST);

interface Item { shape: Shape; tone: Tone; title: preact.ComponentChild; text: preact.ComponentChild; href: string; link: string }

function attention(datasets: DatasetSummary[], ledgers: Ledger[], summaries: LedgerSummary[], witnesses: number | undefined): Item[] {
  const items: Item[] = [];
  const by = new Map(summaries.map((summary) => [summary.ledger, summary]));
  for (const ledger of ledgers) {
    const name = ledger.name ?? "";
    const summary = by.get(name);
    const at = { href: ledgerAddress(name), link: "Open ledger" };
    const declaration = ledger.declaration ?? {};
    if (summary?.refusal || (declaration.parameters === "ADAPTIVE" && !declaration.filter)) {
      items.push({ shape: "refused", tone: "bad", title: <><Name of={shortName(name)} />: ε is refused</>, ...at,
        text: declaration.parameters === "ADAPTIVE" && !declaration.filter ? "Its parameters were chosen while looking at outputs, and no filter was declared before its first event. No method can give it a number." : said(summary?.refusal?.message) });
    }
    if (count(summary?.conflicts)) {
      items.push({ shape: "attend", tone: "warn", title: <><Name of={shortName(name)} />: {plural(count(summary!.conflicts), "refused batch", "refused batches")}</>, text: "A writer that was fenced off, closed or sealed out may have released what the record does not hold. Import its spool.", ...at });
    }
    for (const writer of ledger.writers ?? []) {
      if (!writer.missingSpools?.length && !writer.moreMissingSpools) continue;
      items.push({ shape: "attend", tone: "warn", title: <><Name of={shortName(name)} /> may be short</>, ...at,
        text: <>Writer “<Name of={writer.writer} />” was opened again, and the spool of its earlier process was never delivered. Releases may be missing from the record.</> });
    }
  }
  for (const dataset of datasets) {
    if (dataset.refusal && count(dataset.ledgerCount) > 1) {
      items.push({ shape: "attend", tone: "warn", title: <><Name of={dataset.name} />: its {grouped(dataset.ledgerCount)} runs cannot be added up</>, text: `${said(dataset.refusal.message)}. The total is at least that of the largest single run.`, href: datasetAddress(dataset.name ?? ""), link: "See runs" });
    }
  }
  const alike = new Map<string, string[]>();
  for (const { name } of datasets) alike.set(lookalike(name ?? ""), [...(alike.get(lookalike(name ?? "")) ?? []), name ?? ""]);
  for (const names of alike.values()) {
    if (names.length < 2) continue;
    items.push({ shape: "attend", tone: "warn", title: <>Names that look alike: {names.map((name, i) => <>{i > 0 && " and "}<Name of={name} /></>)}</>, text: "If they are one data set, their runs are counted apart, and each total says too little.", href: datasetAddress(names[0]), link: "See runs" });
  }
  if (witnesses === 0) items.push({ shape: "unknown", tone: "plain", title: "No witness cosigns this record", text: "The server signs for itself. It could show you one history and someone else another, and this page would not notice.", href: "/verify", link: "What this means" });
  return items;
}

// What an older server lists only as ledgers.
function grouping(ledgers: Ledger[]): DatasetSummary[] {
  const by = new Map<string, DatasetSummary>();
  for (const ledger of ledgers) {
    const name = ledger.declaration?.dataset ?? "";
    const one = by.get(name) ?? { name, unitsOfPrivacy: [], adjacencies: [], ledgerCount: "0", openCount: "0" };
    by.set(name, one);
    one.ledgerCount = String(count(one.ledgerCount) + 1);
    if (ledger.state === "OPEN") one.openCount = String(count(one.openCount) + 1);
    const { unitOfPrivacy, adjacency } = ledger.declaration ?? {};
    if (unitOfPrivacy && !one.unitsOfPrivacy!.includes(unitOfPrivacy)) one.unitsOfPrivacy!.push(unitOfPrivacy);
    if (adjacency && !one.adjacencies!.includes(adjacency)) one.adjacencies!.push(adjacency);
  }
  return [...by.values()].sort((a, b) => (a.name! < b.name! ? -1 : 1));
}

export function Runs({ dataset }: { dataset: DatasetSummary }) {
  const open = count(dataset.openCount);
  const sealed = count(dataset.ledgerCount) - open;
  return <span>{[sealed && `${grouped(sealed)} sealed`, open && `${grouped(open)} open`].filter(Boolean).join(", ") || "none"}</span>;
}

export function Together({ dataset, asked }: { dataset: DatasetSummary; asked: boolean }) {
  const largest = dataset.largest;
  const units = dataset.unitsOfPrivacy ?? [];
  if (dataset.epsilon) return <EpsilonCell epsilon={dataset.epsilon} terms={{ delta: dataset.delta ?? 0, unit: units, adjacency: (dataset.adjacencies ?? []).length === 1 ? dataset.adjacencies![0] : undefined, regime: dataset.regime && dataset.regime !== "REGIME_UNSPECIFIED" ? dataset.regime : "FIXED_PLAN" }} />;
  if (!asked) return <span class="faint">not known yet: open it</span>;
  return <div class="epsilon-cell"><strong class="muted">No total can be given</strong><small class="clamp">{said(dataset.refusal?.message)}</small>
    {largest?.epsilon && <small>largest single run: <EpsilonWords epsilon={largest.epsilon} delta={largest.delta ?? 0} /></small>}</div>;
}

function States({ dataset }: { dataset: DatasetSummary }) {
  const refused = count(dataset.refusedCount);
  const conflicts = count(dataset.conflictCount);
  return <div class="chips">
    {refused > 0 && <Chip shape="refused" tone="bad">{refused === 1 ? "ε refused" : `${refused} refused`}</Chip>}
    {conflicts > 0 && <Chip shape="attend" tone="warn">{plural(conflicts, "conflict")}</Chip>}
    {!refused && !conflicts && (count(dataset.openCount) ? <Chip shape="open" tone="info">open</Chip> : <Chip shape="sealed" tone="plain">sealed</Chip>)}
  </div>;
}

export function Datasets() {
  const version = generation.value;
  const listed = useCall("LedgerService/ListDatasets", REQUEST, version);
  const ledgers = useCall("LedgerService/ListLedgers", REQUEST, version);
  const registry = useCall("AuditService/GetCheckpoint", {});
  const old = listed.error?.code === "unimplemented";
  const runs = ledgers.data?.ledgers ?? [];
  const datasets = old ? grouping(runs) : listed.data?.datasets ?? [];
  const ready = old ? ledgers.data : listed.data;
  // Every line of a note that begins with a dash is a signature; one of them is the server's own.
  const witnesses = registry.data?.note ? registry.data.note.split("\n").filter((line) => line.startsWith("— ")).length - 1 : undefined;
  const items = ready ? attention(datasets, runs, ledgers.data?.summaries ?? [], witnesses) : [];
  if (registry.error?.code === "failed_precondition") items.push({ shape: "attend", tone: "warn", title: "This server signs nothing", text: "Nobody could prove later that an entry was changed or removed.", href: "/verify", link: "What this means" });
  const weight = (dataset: DatasetSummary) => (count(dataset.refusedCount) ? 0 : dataset.refusal ? 1 : count(dataset.conflictCount) ? 1 : 2);
  const sorted = [...datasets].sort((a, b) => weight(a) - weight(b));
  const csv = () => csvOf([["dataset", "units_of_privacy", "adjacencies", "ledgers", "open", "epsilon_lower", "epsilon_upper", "delta", "regime", "refusal"], ...datasets.map((one) =>
    [one.name ?? "", (one.unitsOfPrivacy ?? []).join("; "), (one.adjacencies ?? []).join("; "), one.ledgerCount ?? "0", one.openCount ?? "0", one.epsilon ? String(one.epsilon.lower ?? 0) : "", one.epsilon ? String(one.epsilon.upper ?? 0) : "", one.delta ?? "", one.epsilon ? one.regime ?? "" : "", one.refusal?.reason ?? ""])]);
  const error = old ? ledgers.error : listed.error ?? undefined;
  return <>
    <Title title="Data sets" about={ready ? <>What was learned from each data set, by everything recorded on this server: {plural(runs.length, "ledger")}{ledgers.data?.nextPageToken && " and more"}, {plural(datasets.length, "data set")}.</> : "What was learned from each data set."}
      actions={<><button type="button" class="button" disabled={!datasets.length} onClick={() => download("datasets.csv", "text/csv", csv())}>CSV</button>
        <A class="button primary" href="/statement">Write a statement</A></>} />
    {error && <Failed error={error} what="the data sets" since={listed.received} again={() => { listed.again(); ledgers.again(); }} />}
    {!ready && !error && <Loading what="the data sets" />}
    {ready && datasets.length === 0 && <Empty title="No data set yet">A ledger names the data set that its run touches. A trainer that records its rounds makes one: <code>dp_sgd --server {location.host} --ledger first --target-epsilon 1</code></Empty>}
    {items.length > 0 && <Card flush title={<>Needs attention <span class="faint">{items.length}</span></>}>{items.slice(0, 12).map((item, i) => <Notice key={i} shape={item.shape} tone={item.tone} title={item.title} action={<A href={item.href}>{item.link}</A>}>{item.text}</Notice>)}
      {items.length > 12 && <p class="footnote" style="padding: 8px 20px">and {items.length - 12} more: filter the ledgers for them</p>}</Card>}
    {datasets.length > 0 && <Section title="All data sets" side="Order: attention, then name">
      <div class="card flush"><table class="rows datasets"><thead><tr><th scope="col">Data set</th><th scope="col">Runs</th><th scope="col">All runs together, if every model and answer is seen</th><th scope="col">Last entry</th><th scope="col">State</th></tr></thead>
        <tbody>{sorted.map((dataset) => <tr key={dataset.name} data-name={dataset.name}>
          <td data-label="Data set" class="main"><A href={datasetAddress(dataset.name ?? "")}><Name of={dataset.name} /></A><small>one record is one {(dataset.unitsOfPrivacy ?? []).map((unit, i) => <>{i > 0 && " or one "}<Name of={unit} /></>)}</small></td>
          <td data-label="Runs"><Runs dataset={dataset} /></td>
          <td data-label="Together"><Together dataset={dataset} asked={!old} /></td>
          <td data-label="Last entry"><Time of={dataset.lastEntryTime} /></td>
          <td data-label="State"><States dataset={dataset} /></td></tr>)}</tbody></table></div>
      <TierNote />
    </Section>}
  </>;
}
