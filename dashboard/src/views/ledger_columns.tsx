// What lists of ledgers say of each: the columns, which the reader chooses and the address keeps.
import type { ComponentChildren } from "preact";
import type { Ledger, LedgerSummary } from "../api/types";
import { Protects } from "../parts/epsilon";
import { roundsText, StateLine, SummaryLine, summaryTerms } from "../parts/ledger_state";
import { Menu } from "../parts/menu";
import { A, Button } from "../parts/parts";
import { datasetAddress, ledgerAddress, place, setQuery } from "../router";
import { Name, shortName } from "../text/names";
import { grouped, number, textNear, textUp } from "../text/numbers";
import { Time } from "../text/time";
import { methodWords } from "../text/words";

export interface Row {
  ledger: Ledger;
  summary?: LedgerSummary;
}
interface LedgerColumn {
  label: string;
  head?: string; // in place of the label, where the table has a head
  field?: string; // that the server sorts by (docs/filters.md)
  width: number; // in pixels, and its share of what is left
  cell: (row: Row, shown: string[]) => ComponentChildren;
}
const none = <span class="faint">–</span>;
const counted = (count: string | undefined) => (number(count) ? grouped(count) : none);
const spentOf = ({ summary }: Row) => {
  const { spent, bound, budget, granted } = summary?.spending ?? {};
  if (!summary?.spending) return none;
  return `${textUp(number(spent))} of ${textNear(number(budget ? granted : bound))}`;
};
// A ledger's state stands before what a narrow screen has no room for.
export const LEDGER_COLUMNS: Record<string, LedgerColumn> = {
  epsilon: {
    label: "Cost",
    head: "Cost of what was recorded",
    field: "epsilon",
    width: 272,
    cell: ({ ledger, summary }, shown) => (
      <SummaryLine summary={summary} ledger={ledger} whom={!shown.includes("whom")} />
    ),
  },
  state: {
    label: "State",
    field: "state",
    width: 164,
    cell: ({ ledger, summary }) => <StateLine ledger={ledger} summary={summary} />,
  },
  whom: {
    label: "Protects",
    head: "Unit and neighbours",
    field: "unit",
    width: 195,
    cell: ({ ledger, summary }) => <Protects of={summaryTerms(summary, ledger)} />,
  },
  dataset: {
    label: "Data set",
    field: "dataset",
    width: 118,
    cell: ({ ledger: { declaration } }) => (
      <A class="quiet" href={datasetAddress(declaration?.dataset)}>
        <Name of={declaration?.dataset} />
      </A>
    ),
  },
  rounds: {
    label: "Rounds",
    field: "rounds",
    width: 110,
    cell: ({ ledger, summary }) => roundsText(ledger, summary),
  },
  last: {
    label: "Last entry",
    field: "last_entry_time",
    width: 106,
    cell: ({ summary }) =>
      summary?.lastEntryTime ? <Time of={summary.lastEntryTime} day /> : <>none yet</>,
  },
  size: { label: "Entries", field: "size", width: 90, cell: ({ ledger }) => grouped(ledger.size) },
  made: {
    label: "Made",
    field: "create_time",
    width: 110,
    cell: ({ ledger }) => <Time of={ledger.createTime} day />,
  },
  creator: {
    label: "Made by",
    field: "creator",
    width: 130,
    cell: ({ ledger: { creator } }) => (creator ? <Name of={creator} /> : none),
  },
  from: {
    label: "Comes from",
    width: 140,
    cell: ({ ledger: { fork, import: copy } }) =>
      fork ? (
        <A class="quiet" href={ledgerAddress(fork.parent)}>
          <Name of={shortName(fork.parent)} />
        </A>
      ) : copy ? (
        <>
          copy of <Name of={copy.origin} />
        </>
      ) : (
        none
      ),
  },
  spent: { label: "Spent of its filter", field: "remaining", width: 140, cell: spentOf },
  conflicts: {
    label: "Conflicts",
    field: "conflicts",
    width: 90,
    cell: ({ summary }) => counted(summary?.conflicts),
  },
  corrections: {
    label: "Corrections",
    field: "corrections",
    width: 100,
    cell: ({ summary }) => counted(summary?.corrections),
  },
  warnings: {
    label: "Warnings",
    field: "warnings",
    width: 90,
    cell: ({ summary }) => counted(summary?.warnings),
  },
  writers: {
    label: "Open writers",
    field: "open_writers",
    width: 100,
    cell: ({ ledger }) => counted(ledger.openWriterCount),
  },
  method: {
    label: "Method",
    field: "method",
    width: 140,
    cell: ({ summary }) => (summary?.method ? methodWords(summary.method) : none),
  },
  version: {
    label: "Version",
    field: "version",
    width: 80,
    cell: ({ summary }) => summary?.version ?? none,
  },
};
const USUAL = ["epsilon", "state", "whom", "dataset", "rounds", "last"];

export function shownColumns(): string[] {
  const asked = place.value.query.get("columns")?.split(",");
  return asked ? Object.keys(LEDGER_COLUMNS).filter((name) => asked.includes(name)) : USUAL;
}

export function ColumnMenu() {
  const shown = shownColumns();
  const turn = (name: string) => {
    const next = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
    const isUsual = next.length === USUAL.length && USUAL.every((one) => next.includes(one));
    setQuery({ columns: isUsual ? "" : next.join(",") || "none" });
  };
  return (
    <Menu label="Columns">
      <fieldset>
        <legend class="hidden">Columns that are shown</legend>
        {Object.entries(LEDGER_COLUMNS).map(([name, { label }]) => (
          <label key={name} class="tick">
            <input type="checkbox" checked={shown.includes(name)} onChange={() => turn(name)} />
            {label}
          </label>
        ))}
      </fieldset>
      <Button class="link" onClick={() => setQuery({ columns: "" })}>
        As usual
      </Button>
    </Menu>
  );
}
