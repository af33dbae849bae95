// What differs between two to ten ledgers: only the rows that do, unless all are asked for.
import { useEffect, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { ComputeEpsilonResponse, Ledger } from "../api/types";
import { Chart } from "../chart/chart";
import { EpsilonCell, epsilonText } from "../parts/epsilon";
import { Dialog } from "../parts/dialog";
import { A, csvOf, download, Failed, Loading } from "../parts/parts";
import { askedDelta, ledgerAddress, setQuery } from "../router";
import { ledgerName, Name, shortName, visible } from "../text/names";
import { count, double, grouped, textNear } from "../text/numbers";
import { adjacencyWords, filterWords, methodWords, policyWords, parametersWords, regimeOf, regimeShort, unitsOf } from "../text/words";
import { useCurve } from "./curve";

interface Found { name: string; ledger?: Ledger; answer?: ComputeEpsilonResponse; error?: CallError }
const MOST = 10;

function useFound(names: string[], delta: number): Found[] | undefined {
  const [found, setFound] = useState<Found[] | undefined>();
  const key = names.join(",");
  useEffect(() => {
    const control = new AbortController();
    Promise.all(names.map(async (name): Promise<Found> => {
      try {
        const ledger = await call("LedgerService/GetLedger", { name }, control.signal);
        try {
          return { name, ledger, answer: await call("AccountingService/ComputeEpsilon", { subject: { ledgers: [name] }, delta }, control.signal) };
        } catch (error) {
          return { name, ledger, error: error as CallError };
        }
      } catch (error) {
        return { name, error: error as CallError };
      }
    })).then((all) => !control.signal.aborted && setFound(all));
    return () => control.abort();
  }, [key, delta]);
  return found;
}

const ROWS: [string, (found: Found) => string][] = [
  ["Data set", ({ ledger }) => visible(ledger?.declaration?.dataset ?? "")],
  ["One record is", ({ ledger }) => `one ${visible(ledger?.declaration?.unitOfPrivacy ?? "")}`],
  ["Neighbours", ({ ledger }) => adjacencyWords(ledger?.declaration?.adjacency)],
  ["Parameters", ({ ledger }) => parametersWords(ledger?.declaration?.parameters)],
  ["Filter", ({ ledger }) => filterWords(ledger?.declaration?.filter)],
  ["Released", ({ ledger }) => visible(ledger?.declaration?.released || "not stated")],
  ["Noise released", ({ ledger }) => policyWords(ledger?.declaration ?? {})],
  ["Plan independent", ({ ledger }) => (ledger?.declaration?.planIndependent ? "declared" : "not declared")],
  ["Rounds planned", ({ ledger }) => (count(ledger?.declaration?.plannedRounds) ? grouped(ledger?.declaration?.plannedRounds) : "not stated")],
  ["Rounds recorded", ({ answer, error }) => (answer ? grouped(answer.details?.ledgers?.[0]?.rounds) : error ? "–" : "")],
  ["Entries", ({ ledger }) => grouped(ledger?.size)],
  ["State", ({ ledger }) => (ledger?.state ?? "").toLowerCase()],
  ["Method", ({ answer }) => (answer ? methodWords(answer.details?.method) : "–")],
  ["Schemes", ({ answer }) => (answer?.details?.schemes ?? []).join(", ") || "–"],
];

export function Compare({ names }: { names: string }) {
  const [same, setSame] = useState(false);
  const [more, setMore] = useState("");
  const delta = askedDelta();
  const chosen = names.split(",").filter(Boolean).slice(0, MOST).map((text) => (text.includes("/") ? ledgerName(text.split("/")[0], text.split("/")[1]) : ledgerName("default", text)));
  const found = useFound(chosen, delta);
  const curves = [useCurve(chosen[0] ?? "", count(found?.[0]?.ledger?.size), delta, "BEST", !!found?.[0]?.answer), useCurve(chosen[1] ?? "", count(found?.[1]?.ledger?.size), delta, "BEST", !!found?.[1]?.answer)];
  const close = () => setQuery({ open: "" });
  const set = (list: string[]) => setQuery({ open: `compare:${list.map(shortName).join(",")}` });
  const terms = new Set(found?.filter((one) => one.answer).map((one) => `${one.ledger?.declaration?.unitOfPrivacy} ${one.answer!.details?.adjacency}`));
  const rows = ROWS.map(([label, of]) => ({ label, values: (found ?? []).map(of) })).map((row) => ({ ...row, differs: new Set(row.values).size > 1 }));
  const shown = rows.filter((row) => same || row.differs);
  return <Dialog drawer title={`Compare ${chosen.length} ledgers`} close={close}>
    {!found && <Loading what="the ledgers" />}
    {terms.size > 1 && <p class="bar-note">Not comparable: these ledgers protect different units or compare different neighbours. A smaller number is not a stronger promise here.</p>}
    {found && <>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Comparison"><table class="plain compare"><thead><tr><th scope="col">What</th>{found.map((one) => <th key={one.name} scope="col"><A href={ledgerAddress(one.name)}><Name of={shortName(one.name)} /></A> <button type="button" class="link" aria-label={`Leave out ${shortName(one.name)}`} onClick={() => set(chosen.filter((name) => name !== one.name))}>×</button></th>)}</tr></thead>
        <tbody><tr><th scope="row">Cost</th>{found.map((one) => <td key={one.name}>{one.answer?.epsilon ? <EpsilonCell epsilon={one.answer.epsilon} strip={false} terms={{ delta, unit: unitsOf(one.answer.details), adjacency: one.answer.details?.adjacency, regime: regimeOf(one.answer.details) }} /> : <span class="bad-text">{visible(one.error?.message ?? "")}</span>}</td>)}</tr>
          {shown.map((row) => <tr key={row.label} class={row.differs ? "" : "same"}><th scope="row">{row.label}</th>{row.values.map((value, i) => <td key={i}>{value}</td>)}</tr>)}</tbody></table></div>
      <p class="actions"><button type="button" class="link" onClick={() => setSame(!same)}>{same ? "Only what differs" : `${rows.filter((row) => !row.differs).length} rows are the same: show`}</button>
        <button type="button" class="link" onClick={() => download("comparison.csv", "text/csv", csvOf([["what", ...chosen.map(shortName)], ["epsilon_upper", ...found.map((one) => String(one.answer?.epsilon?.upper ?? ""))], ["delta", ...found.map(() => delta)], ...rows.map((row) => [row.label, ...row.values])]))}>CSV</button></p>
      {found.filter((one) => one.error && !one.ledger).map((one) => <Failed key={one.name} error={one.error!} what={shortName(one.name)} />)}
      {chosen.length === 2 && terms.size === 1 && curves.every((curve) => curve.points.length > 1) && <Chart title="Cost over what was recorded" xTitle="rounds or entries recorded" yTitle="" yText={`ε at δ = ${textNear(delta)}`} file="comparison"
        qualifiers={`${adjacencyWords(found[0].answer?.details?.adjacency)} ${visible(unitsOf(found[0].answer?.details)[0] ?? "record")}, ${regimeShort(regimeOf(found[0].answer?.details))}`}
        series={curves.map((curve, i) => ({ label: shortName(chosen[i]), points: curve.points, second: i === 1, end: epsilonText(curve.points[curve.points.length - 1].upper) }))}
        csv={{ head: ["ledger", "entries", "rounds", "epsilon_lower", "epsilon_upper", "delta"], rows: curves.flatMap((curve, i) => curve.points.map((point) => [shortName(chosen[i]), point.size, point.x, double(point.lower ?? 0), point.upper, delta])) }} />}
    </>}
    {chosen.length < MOST && <form onSubmit={(event) => { event.preventDefault(); if (more.trim()) set([...chosen, more.includes("/") ? ledgerName(more.trim().split("/")[0], more.trim().split("/")[1]) : ledgerName("default", more.trim())]); setMore(""); }}>
      <label class="field">Add a ledger<input value={more} onInput={(event) => setMore(event.currentTarget.value)} placeholder="name" spellcheck={false} /></label><button class="button" type="submit">Add</button></form>}
  </Dialog>;
}
