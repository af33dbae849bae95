// What a ledger recorded, in groups of equal rounds.
import { downloadCsv } from "../parts/download";
import { Button, Section, Table } from "../parts/parts";
import { Name, visible } from "../text/names";
import { grouped, plural, textNear } from "../text/numbers";
import { noiseWords, schemeWords } from "../text/words";
import { noiseMultiplier, type Run } from "./entries";

const SHOWN = 100;

function roundsOf({ first, rounds, mechanism }: Run): string {
  if (first < 0) return plural(rounds, mechanism ? "time" : "round");
  const last = rounds > 1 ? ` – ${grouped(first + rounds - 1)}` : "";
  return `${grouped(first)}${last}`;
}
function schemeOf({ scheme, mechanism }: Run): { text: string; about: string } {
  if (mechanism) return { text: "–", about: "" };
  return scheme ? schemeWords(scheme) : { text: "every record", about: "no sampling event" };
}
const releasedOf = ({ mechanism, queries }: Run) =>
  mechanism || queries.map(({ group }) => `“${visible(group)}”`).join(", ") || "nothing yet";
const kindsOf = ({ queries }: Run) =>
  [...new Set(queries.map((query) => noiseWords(query.noise)))].join(", ");
const noiseOf = ({ queries, noise }: Run) => (queries.length ? noiseMultiplier(queries) : noise);

const csvRow = (run: Run) => ({
  first_round: run.first < 0 ? "" : run.first,
  rounds: run.rounds,
  first_entry: run.fromEntry,
  last_entry: run.toEntry,
  writer: run.writer,
  scheme: schemeOf(run).text,
  released: releasedOf(run),
  noise_kind: kindsOf(run),
  noise_multiplier: noiseOf(run),
  late: run.late ? "late" : "",
});
function cellsOf(run: Run) {
  const scheme = schemeOf(run);
  const noise = noiseOf(run);
  return [
    <>
      {roundsOf(run)}
      <small>
        {run.first >= 0 && run.rounds > 1 ? `${grouped(run.rounds)} equal rounds · ` : ""}
        <Name of={run.writer} />
        {run.late && " · late"}
      </small>
    </>,
    <>
      {scheme.text}
      <small>{scheme.about}</small>
    </>,
    <>
      {releasedOf(run)}
      <small>{kindsOf(run)}</small>
    </>,
    noise === undefined ? "–" : textNear(noise),
  ];
}

interface RunsProps {
  of: Run[];
  read: number; // entries, of `size`
  done: boolean;
  size: number;
  file: string;
}
export function Runs({ of: runs, read, done, size, file }: RunsProps) {
  const title = "What was recorded, grouped";
  if (!runs.length) {
    if (!read) return null;
    return (
      <Section title={title}>
        <p class="muted">No round or mechanism is recorded yet.</p>
      </Section>
    );
  }
  const csv = () => downloadCsv(`runs-${file}`, runs.map(csvRow));
  return (
    <Section
      title={title}
      side={
        <Button class="link" onClick={csv}>
          CSV
        </Button>
      }
    >
      <Table
        columns={["Rounds", "Sample", "Released", { label: "Noise multiplier", class: "num" }]}
        rows={runs.slice(0, SHOWN).map((run) => ({ key: run.fromEntry, cells: cellsOf(run) }))}
      />
      {runs.length > SHOWN && (
        <p class="footnote">
          The first {SHOWN} of {grouped(runs.length)} groups; all of them as CSV.
        </p>
      )}
      {!done && (
        <p class="footnote">
          Of the first {grouped(read)} of {grouped(size)} entries.
        </p>
      )}
    </Section>
  );
}
