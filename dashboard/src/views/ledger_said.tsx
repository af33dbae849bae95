// What was said of a ledger over time: by operations, by statements and in lists, and what each
// better method gave back.
import type { ComponentChildren } from "preact";
import { everyPage } from "../api/client";
import type { ComputeEpsilonResponse, Ledger, SaidAnswer } from "../api/types";
import { useTask } from "../api/use_call";
import { Chart, daysSince } from "../chart/chart";
import { epsilonText, upper } from "../parts/epsilon";
import { A, Card, Failed, Section, Table } from "../parts/parts";
import { statementAddress } from "../router";
import { said as refusalSaid, shortName, visible } from "../text/names";
import { entriesText, grouped, number, textNear } from "../text/numbers";
import { Time } from "../text/time";
import { adjacencyWords, regimeShort, unitsOf } from "../text/words";

const MOST_ROWS = 12;
async function readAll(ledger: string, delta: number, signal: AbortSignal): Promise<SaidAnswer[]> {
  const all: SaidAnswer[] = [];
  const request = { ledger, delta, pageSize: 1000 };
  await everyPage(
    "RecomputeService/ListAnswers",
    request,
    ({ answers = [] }) => void all.push(...answers),
    signal,
  );
  return all;
}

const timeOf = ({ answer }: SaidAnswer) => Date.parse(answer?.computeTime ?? "");
function saidByText({ operation, statement }: SaidAnswer): string {
  if (operation) return operation;
  if (!statement) return "lists";
  return `statement ${statement.number}${statement.withdrawal ? ", withdrawn" : ""}`;
}
function SaidBy({ of: one }: { of: SaidAnswer }) {
  if (one.operation) {
    return <A href={`/recompute/${one.operation.slice("operations/".length)}`}>recomputed</A>;
  }
  const text = saidByText(one);
  return one.statement ? (
    <A href={statementAddress({ ledger: one.answer?.ledger ?? "" })}>{text}</A>
  ) : (
    <span>{text}</span>
  );
}
function givenBackText({ givenBack }: SaidAnswer): ComponentChildren {
  if (givenBack === undefined) return <span class="faint">not asked before</span>;
  const by = number(givenBack);
  if (by === 0) return "unchanged";
  if (!Number.isFinite(by)) return by > 0 ? "had no bound" : "no bound any more";
  return `${textNear(Math.abs(by))} ${by > 0 ? "less" : "more"}`;
}

const COLUMNS = [
  { label: "When" },
  { label: "ε", head: "ε at most", class: "num" },
  { label: "Of" },
  { label: "By" },
  { label: "Said by" },
  { label: "Change", head: "Bound, than said before" },
];
function rowOf(one: SaidAnswer, i: number) {
  const { answer } = one;
  const bound = answer?.epsilon && <strong>{epsilonText(upper(answer.epsilon))}</strong>;
  const why = answer?.refusal?.message;
  return {
    key: i,
    cells: [
      <Time of={answer?.computeTime} />,
      bound ?? <span class="bad-text">refused{why ? `: ${refusalSaid(why)}` : ""}</span>,
      entriesText(answer?.size),
      [answer?.method, answer?.version].filter(Boolean).join(", "),
      <SaidBy of={one} />,
      givenBackText(one),
    ],
  };
}

const csvRow = (one: SaidAnswer) => ({
  time: one.answer?.computeTime,
  epsilon_lower: one.answer?.epsilon ? number(one.answer.epsilon.lower) : "",
  epsilon_upper: one.answer?.epsilon ? upper(one.answer.epsilon) : "",
  delta: one.answer?.delta,
  entries: one.answer?.size,
  method: one.answer?.method,
  version: one.answer?.version,
  said_by: saidByText(one),
  given_back: one.givenBack ?? "",
});

interface SaidProps {
  ledger: Ledger;
  answer: ComputeEpsilonResponse;
}
export function SaidOverTime({ ledger: { name = "", size }, answer }: SaidProps) {
  const delta = number(answer.delta);
  const { adjacency, regime } = answer.details ?? {};
  const { data = [], error } = useTask(
    (signal) => readAll(name, delta, signal),
    [name, delta, size],
  );
  if (error) return <Failed error={error} what="what was said before" />;
  if (!data.some((one) => one.operation || one.statement)) return null;
  const bounded = data.filter(
    ({ answer }) => answer?.epsilon && Number.isFinite(upper(answer.epsilon)),
  );
  const since = Math.min(...bounded.map(timeOf));
  const points = (of: SaidAnswer[]) =>
    of.map((one) => ({
      x: daysSince(since, timeOf(one)),
      lower: null,
      upper: upper(one.answer!.epsilon),
    }));
  const last = bounded.at(-1)?.answer?.size;
  const same = bounded.filter(({ answer }) => answer!.size === last);
  const others = bounded.filter(({ answer }) => answer!.size !== last);
  const series = [
    { label: `of ${entriesText(last)}`, points: points(same), until: true },
    { label: "of fewer or more entries", points: points(others), until: true, second: true },
  ];
  const short = shortName(name);
  const unit = visible(unitsOf(answer.details)[0] ?? "record");
  return (
    <Section
      title="What was said of it over time"
      side={
        data.length > MOST_ROWS && (
          <span class="muted">
            the last {MOST_ROWS} of {grouped(data.length)}; all are in the table
          </span>
        )
      }
    >
      {bounded.length > 1 && (
        <Card>
          <Chart
            title={`What was said of ${short}`}
            xTitle="when it was said"
            yTitle={`ε at δ = ${textNear(delta)}`}
            qualifiers={`${adjacencyWords(adjacency)} ${unit}, ${regimeShort(regime)}`}
            height={190}
            since={since}
            series={others.length ? series : series.slice(0, 1)}
            file={`said-${short}`}
            csv={data.map(csvRow)}
          />
        </Card>
      )}
      <Table columns={COLUMNS} rows={data.slice(-MOST_ROWS).reverse().map(rowOf)} />
      <p class="footnote">
        What operations found, what issued statements say, and what lists show. Answers to single
        questions leave no trace. A smaller number does not mean that less was released: the same
        entries were looked at more closely.
      </p>
    </Section>
  );
}
