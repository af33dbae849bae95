// What a reader of the data sets must act on, by ledger and data set.
import type { ComponentChildren } from "preact";
import type { DatasetSummary, Ledger, LedgerSummary, ListLedgersResponse } from "../api/types";
import type { Shape, Tone } from "../parts/icon";
import { datasetAddress, ledgerAddress } from "../router";
import { AndNames, lookalike, Name, said, shortName } from "../text/names";
import { grouped, number, percentUp, plural } from "../text/numbers";

interface Item {
  shape: Shape;
  tone: Tone;
  title: ComponentChildren;
  text: ComponentChildren;
  href: string;
  link: string;
}

// Why there is no total. One that is being worked out is not refused.
export const refusalOf = ({ refusal }: DatasetSummary) =>
  refusal?.reason === "UNDER_WAY" ? undefined : refusal;

const NO_FILTER =
  "Its parameters were chosen while looking at outputs, and no filter was declared before its " +
  "first event. No method can give it a number.";
const CONFLICT =
  "A writer that was fenced off, closed or sealed out may have released what the record does not " +
  "hold. Import its spool.";
const NEARLY_FULL = 0.8;
const NEARLY =
  "Soon no run under it gets more. The data set’s view says to whom it is granted, and when it " +
  "will be full.";
const ALIKE =
  "If they are one data set, their runs are counted apart, and each total says too little.";
const NO_WITNESS: Item = {
  shape: "unknown",
  tone: "plain",
  title: "No witness cosigns this record",
  text:
    "The server signs for itself. It could show you one history and someone else another, and " +
    "this page would not notice.",
  href: "/verify",
  link: "What this means",
};

function ofLedger({ name, declaration, writers = [] }: Ledger, summary: LedgerSummary): Item[] {
  const shown = <Name of={shortName(name)} />;
  const warning = { shape: "attend", tone: "warn", href: ledgerAddress(name), link: "Open ledger" };
  const item = (title: ComponentChildren, text: ComponentChildren) =>
    ({ ...warning, title, text }) as Item;
  const items: Item[] = [];
  const unfiltered = declaration?.parameters === "ADAPTIVE" && !declaration.filter;
  if (unfiltered || summary.refusal) {
    const text = unfiltered ? NO_FILTER : said(summary.refusal?.message);
    items.push({ ...item(<>{shown}: ε is refused</>, text), shape: "refused", tone: "bad" });
  }
  const { spent, bound, crossed } = summary.spending ?? {};
  const share = number(spent) / number(bound);
  if (declaration?.kind === "BUDGET" && share >= NEARLY_FULL && !crossed) {
    items.push(
      item(
        <>
          {shown}: {percentUp(share)} of this budget is granted
        </>,
        NEARLY,
      ),
    );
  }
  if (number(summary.conflicts)) {
    const batches = plural(summary.conflicts, "refused batch", "refused batches");
    items.push(
      item(
        <>
          {shown}: {batches}
        </>,
        CONFLICT,
      ),
    );
  }
  for (const { writer, missingSpools, moreMissingSpools } of writers) {
    if (!missingSpools?.length && !moreMissingSpools) continue;
    const text = (
      <>
        Writer “<Name of={writer} />” was opened again, and the spool of its earlier process was
        never delivered. Releases may be missing from the record.
      </>
    );
    items.push(item(<>{shown} may be short</>, text));
  }
  return items;
}

function ofDatasets(datasets: DatasetSummary[]): Item[] {
  const item = (name: string, title: ComponentChildren, text: string): Item => ({
    shape: "attend",
    tone: "warn",
    title,
    text,
    href: datasetAddress(name),
    link: "See runs",
  });
  const items: Item[] = [];
  const alike = new Map<string, string[]>();
  for (const dataset of datasets) {
    const { name = "", ledgerCount } = dataset;
    const refusal = refusalOf(dataset);
    if (refusal && number(ledgerCount) > 1) {
      const title = (
        <>
          <Name of={name} />: its {grouped(ledgerCount)} runs cannot be added up
        </>
      );
      const least = "The total is at least that of the largest single run.";
      const text = `${said(refusal.message)}. ${least}`;
      items.push(item(name, title, text));
    }
    alike.set(lookalike(name), [...(alike.get(lookalike(name)) ?? []), name]);
  }
  for (const names of alike.values()) {
    if (names.length < 2) continue;
    const title = (
      <>
        Names that look alike: <AndNames of={names} />
      </>
    );
    items.push(item(names[0], title, ALIKE));
  }
  return items;
}

export function attention(
  datasets: DatasetSummary[],
  { ledgers = [], summaries = [] }: ListLedgersResponse,
  witnessed: boolean,
): Item[] {
  return [
    ...ledgers.flatMap((ledger, i) => ofLedger(ledger, summaries[i] ?? {})),
    ...ofDatasets(datasets),
    ...(witnessed ? [] : [NO_WITNESS]),
  ];
}
