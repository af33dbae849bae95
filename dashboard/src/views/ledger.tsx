// One ledger: what this run did, what it cost, and what that number stands on.
import { useMemo } from "preact/hooks";
import { jsonAddress, type CallError } from "../api/client";
import { fromBase64, hex } from "../api/decode";
import type { AnswerDetails, ComputeEpsilonRequest, ComputeEpsilonResponse, Ledger as LedgerMessage, Method } from "../api/types";
import { useCall } from "../api/use_call";
import { Chart } from "../chart/chart";
import { changed, generation } from "../live";
import { Delta, EpsilonBlock, epsilonText, EpsilonWords, hasLower, upper } from "../parts/epsilon";
import { Chip, Icon } from "../parts/icon";
import { StateChips } from "../parts/ledger_state";
import { A, Card, csvOf, download, Facts, Failed, Hash, Loading, Notice, Section, Title } from "../parts/parts";
import { askedDelta, datasetAddress, ledgerAddress, place, setQuery, verifyAddress } from "../router";
import { ledgerName, Name, said, shortName, visible } from "../text/names";
import { count, double, grouped, percentUp, plural, textNear, textUp } from "../text/numbers";
import { Time } from "../text/time";
import { adjacencyWords, attackWords, filterWords, methodWords, noiseWords, policyWords, regimeOf, regimeShort, schemeWords, unitsOf } from "../text/words";
import { checkedHere } from "../verify/kept";
import { useCurve } from "./curve";
import { noiseMultiplier, useRuns, type Run } from "./entries";
import { EntryList } from "./entry_list";

// A prefix is asked about by its size; without one, all that there is.
function askOf(name: string): ComputeEpsilonRequest {
  const { query } = place.value;
  const request: ComputeEpsilonRequest = { subject: { ledgers: [name] }, delta: askedDelta() };
  const size = query.get("size");
  if (size && /^[1-9]\d{0,18}$/.test(size)) request.subject!.upToSequence = size;
  const method = query.get("method")?.toUpperCase();
  if (method) request.options = { method: method as Method };
  return request;
}
export const ledgerJson = (name: string) => jsonAddress("AccountingService/ComputeEpsilon", askOf(name));

// What a refusal says first is what would lift it.
export function Refused({ error, children }: { error: CallError; children?: preact.ComponentChildren }) {
  const adaptive = /ADAPTIVE/.test(error.message);
  return <div class="refused"><Icon shape="refused" size={28} />
    <div><p class="refused-title">No ε can be given</p><p>{said(error.message)}</p>
      {adaptive && <p class="muted">What would lift it: a filter that is declared before the first event. This ledger can no longer declare one; a new ledger can.</p>}
      {children}<p class="faint"><code>{error.code}{error.reason && ` ${error.reason}`}</code></p></div></div>;
}

function PlainWords({ request, unit, adjacency, size }: { request: ComputeEpsilonRequest; unit: string; adjacency: string | undefined; size: string | undefined }) {
  const profile = useCall("AccountingService/ComputeProfile", { subject: request.subject, options: request.options, priors: [0.5], typeOneErrors: [0.01], gaussianLeastDelta: 1e-10 }, size);
  const success = profile.data?.bayesSuccess?.[0]?.success;
  const found = profile.data?.tradeOff?.[0]?.symmetric;
  const words = attackWords(adjacency, visible(unit));
  if (!success || !found || !words) return null;
  const mu = profile.data?.gaussianFit?.mu;
  return <div class="plain-words"><p>Someone who sees all that was released, and knows everything but {words.unknown}, guesses rightly with a chance
    of at most <strong>{percentUp(double(success.upper))}</strong>, where a coin toss gives 50 %. If they accept 1 false alarm in 100, they find at
    most <strong>{textUp((1 - double(found.lower)) * 100)} in 100</strong> {words.found}.</p>
    {mu && Number.isFinite(double(mu.upper)) && <p class="faint">As one Gaussian: μ at most {textUp(double(mu.upper))}, for δ from 10<sup>−10</sup> up.</p>}</div>;
}

function CostChart({ ledger, size, answer, delta }: { ledger: LedgerMessage; size: number; answer: ComputeEpsilonResponse; delta: number }) {
  const name = ledger.name ?? "";
  const best = useCurve(name, size, delta, "BEST", size > 2);
  const renyi = useCurve(name, size, delta, "RDP", size > 2 && !best.busy && !best.error);
  if (size <= 2 || best.error) return null;
  const details = answer.details;
  const planned = count(ledger.declaration?.plannedRounds);
  const rounds = best.points.some((point) => point.x !== point.size);
  const done = best.points[best.points.length - 1]?.x ?? 0;
  const widest = Math.max(0, ...best.points.map((point) => (point.lower === null ? 0 : point.upper - point.lower)));
  const thin = best.points.every((point) => point.lower !== null) && widest < upper(answer.epsilon ?? {}) / 150;
  const series = [
    { label: `best method${best.points.every((point) => point.lower === null) ? ", upper end only" : thin ? "; its interval is thinner than the line" : " and its interval"}`, points: best.points, end: epsilonText(best.points[best.points.length - 1]?.upper ?? 0) },
    ...(renyi.points.length && answer.details?.method !== "rdp" ? [{ label: "Rényi method, upper end only", points: renyi.points, second: true, end: `Rényi: ${epsilonText(renyi.points[renyi.points.length - 1].upper)}` }] : []),
  ];
  const unit = unitsOf(details)[0] ?? "record";
  const qualifiers = `${adjacencyWords(details?.adjacency)} ${visible(unit)}, ${regimeShort(regimeOf(details))}`;
  const marks = (details?.ledgers?.[0]?.corrections ?? []).length;
  return <Card title={rounds ? "Cost as rounds were recorded" : "Cost as entries were recorded"}>
    {best.points.length < 2 ? <Loading what="the cost at earlier sizes" /> : <Chart title={`Cost of ${shortName(name)}`} xTitle={rounds ? "rounds recorded" : "entries recorded"}
      yTitle={<>ε at <Delta of={delta} /></>} yText={`ε at δ = ${textNear(delta)}`} qualifiers={qualifiers} series={series} file={`cost-${shortName(name)}`}
      plan={planned && rounds && done <= planned && (planned < 4 * done) ? { x: planned, label: `plan: ${grouped(planned)} rounds${done >= planned ? ", all done" : ""}`, value: answer.plannedEpsilon && done < planned ? upper(answer.plannedEpsilon) : undefined } : undefined}
      csv={{ head: ["entries", rounds ? "rounds" : "entries_again", "epsilon_lower", "epsilon_upper", "delta", "method", "unit", "adjacency", "parameters", "version"],
        rows: [...best.points, ...renyi.points].map((point) => [point.size, point.x, point.lower ?? "", point.upper, delta, point.method, unit, details?.adjacency ?? "", details?.parameters ?? "", point.version]) }} />}
    {planned > 0 && done > 0 && planned >= 4 * done && <p class="faint pad">The plan of {grouped(planned)} rounds is far beyond the right end.</p>}
    {marks > 0 && <p class="faint pad">{plural(marks, "correction")}: they change no number.</p>}
  </Card>;
}

function NoiseChart({ runs, file }: { runs: Run[]; file: string }) {
  const sums = runs.filter((run) => run.queries.length > 0);
  if (sums.length < 2) return null;
  let at = 0;
  const noise: { x: number; lower: null; upper: number }[] = [];
  const rate: { x: number; lower: null; upper: number }[] = [];
  for (const run of sums.slice(0, 2000)) {
    const multiplier = noiseMultiplier(run.queries);
    const q = schemeWords(run.scheme ?? undefined).rate ?? 1;
    noise.push({ x: at, lower: null, upper: multiplier }, { x: at + run.rounds, lower: null, upper: multiplier });
    rate.push({ x: at, lower: null, upper: q }, { x: at + run.rounds, lower: null, upper: q });
    at += run.rounds;
  }
  const rows = (points: typeof noise) => points.map((point) => [point.x, point.upper]);
  const shared = { xTitle: "rounds recorded", qualifiers: "as recorded by the trainer", height: 170, values: "nearest" as const };
  return <div class="two"><Card title="Noise over rounds"><Chart {...shared} title="Noise multiplier" yTitle="noise multiplier" yText="noise multiplier" series={[{ label: "noise", points: noise, stairs: true }]} file={`noise-${file}`} csv={{ head: ["round", "noise_multiplier"], rows: rows(noise) }} /></Card>
    <Card title="Sampling over rounds"><Chart {...shared} title="Share of the records in a round" yTitle="share of records" yText="share of records in a round" series={[{ label: "sampling", points: rate, stairs: true }]} file={`sampling-${file}`} csv={{ head: ["round", "share_of_records"], rows: rows(rate) }} /></Card></div>;
}

function Runs({ runs, read, done, size, file }: { runs: Run[]; read: number; done: boolean; size: number; file: string }) {
  const shown = runs.slice(0, 100);
  const roundsOf = (run: Run) => (run.first < 0 ? plural(run.rounds, run.mechanism ? "time" : "round") : run.rounds === 1 ? grouped(run.first) : `${grouped(run.first)} – ${grouped(run.first + run.rounds - 1)}`);
  const cells = (run: Run) => {
    const scheme = run.mechanism ? { text: "–", about: "" } : run.scheme ? schemeWords(run.scheme) : { text: "every record", about: "no sampling event" };
    return { scheme, released: run.mechanism || run.queries.map((query) => `“${visible(query.group ?? "")}”`).join(", ") || "nothing yet", kinds: [...new Set(run.queries.map((query) => noiseWords(query.noise)))].join(", "), noise: run.queries.length ? textNear(noiseMultiplier(run.queries)) : "–" };
  };
  const csv = () => csvOf([["first_round", "rounds", "first_entry", "last_entry", "writer", "scheme", "released", "noise_kind", "noise_multiplier", "late"], ...runs.map((run) => {
    const { scheme, released, kinds } = cells(run);
    return [run.first < 0 ? "" : run.first, run.rounds, run.fromEntry, run.toEntry, run.writer, scheme.text, released, kinds, run.queries.length ? noiseMultiplier(run.queries) : "", run.late ? "late" : ""];
  })]);
  if (!runs.length) return read ? <Section title="What was recorded, grouped"><p class="muted">No round or mechanism is recorded yet.</p></Section> : null;
  return <Section title="What was recorded, grouped" side={<button type="button" class="link" onClick={() => download(`runs-${file}.csv`, "text/csv", csv())}>CSV</button>}>
    <div class="card flush"><table class="rows"><thead><tr><th scope="col">Rounds</th><th scope="col">Sample</th><th scope="col">Released</th><th scope="col" class="num">Noise multiplier</th></tr></thead>
      <tbody>{shown.map((run) => {
        const { scheme, released, kinds, noise } = cells(run);
        return <tr key={run.fromEntry}><td data-label="Rounds">{roundsOf(run)}<small>{run.first >= 0 && run.rounds > 1 ? `${grouped(run.rounds)} equal rounds · ` : ""}<Name of={run.writer} />{run.late && " · late"}</small></td>
          <td data-label="Sample">{scheme.text}<small>{scheme.about}</small></td><td data-label="Released">{released}<small>{kinds}</small></td><td data-label="Noise multiplier" class="num">{noise}</td></tr>;
      })}</tbody></table></div>
    {runs.length > shown.length && <p class="footnote">The first 100 of {grouped(runs.length)} groups; all of them as CSV.</p>}
    {!done && <p class="footnote">Of the first {grouped(read)} of {grouped(size)} entries.</p>}
  </Section>;
}

function Aside({ ledger, details, specials }: { ledger: LedgerMessage; details?: AnswerDetails; specials: { sequence: number; kind: string; text: string }[] }) {
  const declaration = ledger.declaration ?? {};
  const name = ledger.name ?? "";
  const planned = count(declaration.plannedRounds);
  const checkpoint = useCall("AuditService/GetCheckpoint", { log: name }, ledger.size);
  const signed = checkpoint.data?.note?.split("\n") ?? [];
  const key = checkpoint.data?.verifierKeys?.at(-1) ?? "";
  const signedSize = count(signed[1] || 0);
  const writers = ledger.writers ?? [];
  const openers = specials.filter((one) => ["opened", "conflict", "spool imported", "resume"].includes(one.kind));
  const corrections = specials.filter((one) => one.kind === "correction");
  const forks = specials.filter((one) => one.kind === "fork notice");
  const entry = (sequence: number) => <A href={`${ledgerAddress(name)}/entry/${sequence}`}>{grouped(sequence)}</A>;
  return <aside>
    <Card title="Declared before the first event"><Facts rows={[
      ["Data set", <A href={datasetAddress(declaration.dataset ?? "")}><Name of={declaration.dataset} /></A>],
      ["One record is", <>one <Name of={declaration.unitOfPrivacy} /></>],
      ["Neighbours", adjacencyWords(declaration.adjacency)],
      ["Released", declaration.released ? <Name of={declaration.released} whole /> : <span class="warn-text">not stated</span>],
      ["Rounds planned", planned ? grouped(planned) : "not stated"],
      ...(declaration.parameters === "ADAPTIVE" ? [["Filter", declaration.filter ? filterWords(declaration.filter) : <span class="warn-text">none declared</span>] as [string, preact.ComponentChildren]]
        : [["Plan independent", declaration.planIndependent ? "declared" : <span class="warn-text">not declared</span>] as [string, preact.ComponentChildren]]),
      ["Noise released", policyWords(declaration)],
      ...(declaration.description ? [["In own words", <Name of={declaration.description} whole />] as [string, preact.ComponentChildren]] : []),
    ]} /></Card>
    <Card title="Evidence"><Facts rows={[
      ["Entries", grouped(ledger.size)],
      ["Root", <Hash of={ledger.rootHash ? hex(fromBase64(ledger.rootHash)) : ""} length={32} />],
      ["Signed", checkpoint.data ? <>{signedSize === count(ledger.size) ? "all of them" : `the first ${grouped(signedSize)}`}, by this server’s key<br /><code class="faint">{key.split("+")[1]}</code></> : checkpoint.error?.code === "failed_precondition" ? <span class="warn-text">this server signs nothing</span> : checkpoint.error ? visible(checkpoint.error.message) : "asking"],
      ["Made", <><Time of={ledger.createTime} clock />{ledger.creator && <> by <Name of={ledger.creator} /></>}</>],
      ...(ledger.fork ? [["Carries on", <><A href={ledgerAddress(ledger.fork.parent ?? "")}><Name of={shortName(ledger.fork.parent ?? "")} /></A> from entry {grouped(ledger.fork.parentSize)}</>] as [string, preact.ComponentChildren]] : []),
      ...(ledger.import ? [["Copy of", <Name of={ledger.import.origin} whole />] as [string, preact.ComponentChildren]] : []),
      ["Forks", forks.length ? <ul class="flat">{forks.map((one) => <li key={one.sequence}>{entry(one.sequence)}: {one.text}</li>)}</ul> : "none"],
      ["Corrections", corrections.length ? <ul class="flat">{corrections.map((one) => <li key={one.sequence}>{entry(one.sequence)}, {one.text}</li>)}</ul> : "none"],
    ]} /><p class="card-foot"><A href={verifyAddress(name)}>Check all of it in this browser</A></p></Card>
    <Card title={plural(count(ledger.writerCount), "writer")}>
      {writers.length === 0 && <p class="muted">Nobody has written yet.</p>}
      <ul class="flat writers">{writers.slice(0, 20).map((writer) => <li key={writer.writer}>
        <Name of={writer.writer} /> <span class="muted">{writer.closed ? "closed" : "open"}, {plural(writer.entryCount ?? "0", "entry", "entries")}</span>
        {writer.incarnation && <small class="faint">incarnation <Name of={writer.incarnation} />, opened by entry {entry(count(writer.openedSequence))}</small>}
        {(writer.missingSpools ?? []).map((spool) => <small key={spool.incarnation} class="warn-text">the spool of <Name of={spool.incarnation} /> may hold what was never delivered</small>)}
        {writer.owner && <small class="faint">belongs to <Name of={writer.owner} /></small>}</li>)}</ul>
      {writers.length > 20 && <p class="faint">and {grouped(count(ledger.writerCount) - 20)} more</p>}
      {openers.length > 0 && <ul class="flat">{openers.slice(0, 20).map((one) => <li key={one.sequence} class="muted">{entry(one.sequence)} {one.kind}: {one.text}</li>)}</ul>}
    </Card>
    {details && <Card title="This number assumes">
      <ul class="bullets">{(details.assumptions ?? []).map((line) => <li key={line}>{said(line)}</li>)}{!details.assumptions?.length && <li>nothing beyond the declaration</li>}</ul>
      {(details.warnings ?? []).length > 0 && <><h3>It leaves out, or warns</h3><ul class="bullets">{details.warnings!.map((line) => <li key={line}>{said(line)}</li>)}</ul></>}
      <p class="faint card-foot">Worked out by version {details.version}</p>
    </Card>}
  </aside>;
}

export function Ledger({ project, id, entry }: { project: string; id: string; entry?: string }) {
  const name = ledgerName(project, id);
  const version = generation.value && (changed.get(name) ?? 0);
  const ledger = useCall("LedgerService/GetLedger", { name }, version);
  const request = useMemo(() => askOf(name), [name, place.value.query.toString()]);
  const delta = Number(request.delta);
  const answer = useCall("AccountingService/ComputeEpsilon", ledger.data ? request : undefined, ledger.data?.size);
  const size = count(request.subject!.upToSequence) || count(ledger.data?.size);
  const runs = useRuns(name, size);
  if (ledger.error && !ledger.data) return <><Title title={<Name of={shortName(name)} />} /><Failed error={ledger.error} what="this ledger" again={ledger.again} /></>;
  if (!ledger.data) return <><Title title={<Name of={shortName(name)} />} /><Loading what="this ledger" /></>;
  const data = ledger.data;
  const details = answer.data?.details;
  const checked = checkedHere(name);
  const refused = answer.error?.code === "failed_precondition" || answer.error?.code === "unimplemented";
  const pinned = request.subject!.upToSequence;
  const unit = data.declaration?.unitOfPrivacy ?? "record";
  const counts = { corrections: String(runs.specials.filter((one) => one.kind === "correction").length), conflicts: String(runs.specials.filter((one) => one.kind === "conflict").length) };
  const bundle = `dpledger ledger export ${shortName(name)} --server ${location.host}`;
  return <>
    <Title trail={<><A href="/">Data sets</A> / <A href={datasetAddress(data.declaration?.dataset ?? "")}><Name of={data.declaration?.dataset} /></A></>} title={<Name of={shortName(name)} />}
      chips={<><StateChips ledger={data} summary={counts} />{checked && checked.size === data.size && <Chip shape="held" tone="held" title="Its entries are those that were signed; no accounting was done here">checked in this browser, {plural(checked.size, "entry", "entries")}</Chip>}</>}
      actions={<><button type="button" class="button" onClick={() => setQuery({ open: `compare:${shortName(name)}` }, "push")}>Compare</button>
        <A class="button" href={verifyAddress(name)}>Verify</A><A class="button primary" href={`/statement?ledger=${encodeURIComponent(name)}`}>Statement</A></>} />
    {ledger.error && <Failed error={ledger.error} what="the newest state" since={ledger.received} />}
    {pinned && <Notice shape="open" tone="info" title={`Shown: the first ${grouped(pinned)} of ${grouped(data.size)} entries`} action={<button type="button" class="link" onClick={() => setQuery({ size: "" })}>Show all</button>} />}
    <div class="with-aside"><div class="column">
      <Card class="epsilon-card">
        {answer.data?.epsilon ? <EpsilonBlock epsilon={answer.data.epsilon} details={details} terms={{ delta, unit: unitsOf(details).length ? unitsOf(details) : [unit], adjacency: details?.adjacency, regime: regimeOf(details), group: count(details?.groupSize) }}>
          {count(details?.ledgers?.[0]?.missingCount) > 0 && <p class="bar-note"><strong>This may be short.</strong> {plural(details!.ledgers![0].missingCount!, "writer")} may hold releases that were never delivered: {(details!.ledgers![0].missing ?? []).slice(0, 3).map((one) => `${visible(one.writer ?? "")} (${visible(one.reason ?? "")})`).join("; ")}.</p>}
          {(details?.ledgers ?? []).some((one) => (one.corrections ?? []).length > 0) && <p class="bar-note"><strong>This record is corrected.</strong> The number is that of the entries as they were written; a correction says that some of them are wrong, and changes no number.</p>}
          {answer.data.plannedEpsilon && <p class="muted">That is so far. If the plan of {grouped(data.declaration?.plannedRounds)} rounds is charged: <strong><EpsilonWords epsilon={answer.data.plannedEpsilon} delta={delta} /></strong></p>}
          {(details?.filterSpending ?? []).map((spending) => <p key={spending.ledger} class="muted">The number is that of the filter’s whole bound ({spending.filter}: {textNear(double(spending.bound))}). What was spent of it, {textUp(double(spending.spent))}, is no guarantee.</p>)}
          {!hasLower(answer.data.epsilon) && <p class="faint">{methodWords(details?.method)} proves an upper end only.</p>}
        </EpsilonBlock>
          : refused ? <Refused error={answer.error!} /> : answer.error ? <Failed error={answer.error} what="the cost" again={answer.again} /> : <Loading what="the cost" />}
        {answer.data?.epsilon && Number.isFinite(upper(answer.data.epsilon)) && <PlainWords request={request} unit={unit} adjacency={details?.adjacency} size={data.size} />}
        <form class="ask" onSubmit={(event) => event.preventDefault()}><label>δ <input key={delta} type="text" inputMode="decimal" defaultValue={String(delta)} onChange={(event) => { const value = Number(event.currentTarget.value); if (value > 0 && value < 1) setQuery({ delta: event.currentTarget.value }); }} /></label>
          <label>Method <select value={place.value.query.get("method") ?? ""} onChange={(event) => setQuery({ method: event.currentTarget.value })}>
            <option value="">best</option><option value="rdp">Rényi DP</option><option value="pld">loss distribution</option><option value="contour">contour integral</option><option value="gaussian_closed_form">Gaussian</option></select></label></form>
      </Card>
      {answer.data?.epsilon && <CostChart ledger={data} size={size} answer={answer.data} delta={delta} />}
      <NoiseChart runs={runs.runs} file={shortName(name)} />
      {runs.error && <Failed error={runs.error} what="the entries" />}
      <Runs runs={runs.runs} read={runs.read} done={runs.done} size={size} file={shortName(name)} />
      <EntryList ledger={name} size={size} entry={entry} />
      <p class="footnote">A bundle to keep and to check anywhere: <code>{bundle}</code></p>
    </div><Aside ledger={data} details={details} specials={runs.specials} /></div>
  </>;
}
