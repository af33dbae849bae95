// What the checks say, in words: what was proved, what was not, and what no such check can show. The page and the
// single-file verifier share it.
import { useEffect, useRef, useState } from "preact/hooks";
import { Chip, Icon } from "../parts/icon";
import { bytesText, grouped, plural } from "../text/numbers";
import { visible } from "../text/names";
import type { Check, End, Job } from "./check";
import { run } from "./in_worker";

export interface Running { checks: Check[]; progress?: { done: number; total: number; bytes: number }; end?: End; broken?: string; started: number }

const begun = (): Running => ({ checks: [], started: Date.now() });

// The checks of `job`, from its first render on: the verdict on one file never stands under another's name.
export function useChecks(job: Job | undefined, ended?: (end: End) => void): Running {
  const [heard, setHeard] = useState<{ job: Job | undefined; running: Running }>({ job: undefined, running: begun() });
  useEffect(() => {
    if (!job) return;
    const change = (to: (old: Running) => Running) => setHeard((old) => ({ job, running: to(old.job === job ? old.running : begun()) }));
    change(begun);
    return run(job, (message) => {
      if (message.type === "check") change((old) => ({ ...old, checks: [...old.checks, message.check] }));
      else if (message.type === "progress") change((old) => ({ ...old, progress: message }));
      else {
        change((old) => ({ ...old, end: message.end }));
        ended?.(message.end);
      }
    }, (why) => change((old) => ({ ...old, broken: why })));
  }, [job]);
  return heard.job === job ? heard.running : begun();
}

const took = (check: Check) => (check.outcome === "none" ? "not proved" : check.outcome === "unfinished" ? "not finished" : [check.ms === undefined ? "" : check.ms < 1 ? "< 1 ms" : check.ms < 1000 ? `${Math.round(check.ms)} ms` : `${(check.ms / 1000).toFixed(1)} s`, check.bytes ? bytesText(check.bytes) : ""].filter(Boolean).join(" · "));
const SHAPES = { held: ["held", "held"], failed: ["refused", "bad"], none: ["unknown", "none"], unfinished: ["attend", "warn"] } as const;

export function Verdict({ running, name, actions, shows, source }: { running: Running; name: string; actions?: preact.ComponentChildren; shows?: preact.ComponentChildren; source: "server" | "bundle" }) {
  const { checks, end, progress, broken } = running;
  const failed = checks.find((check) => check.outcome === "failed");
  const unfinished = checks.find((check) => check.outcome === "unfinished");
  const none = checks.filter((check) => check.outcome === "none").length;
  const held = checks.filter((check) => check.outcome === "held").length;
  const over = end || failed || unfinished || broken;
  const received = new Date(running.started).toLocaleTimeString();
  const tone = failed || broken ? "bad" : end ? "held" : "";
  const has = (id: string) => checks.some((check) => check.id === id && check.outcome === "held");
  return <>
    <section class={`card verdict ${tone}`} aria-live="polite">
      <span class="badge"><Icon shape={failed || broken ? "refused" : unfinished ? "attend" : end ? "held" : "unknown"} size={22} /></span>
      <div><div class="verdict-title">{broken ? "The checks did not run" : failed ? `${visible(name)}: ${failed.title.toLowerCase()} failed` : unfinished ? "The checks did not come to an end" : end ? `The ${grouped(end.size)} ${Number(end.size) === 1 ? "entry is the one that was" : `entries ${source === "server" ? "shown" : "in the bundle"} are the ones that were`} signed` : "Checking"}
        {over && none > 0 && !failed && !broken && <Chip shape="unknown" tone="plain">{none} not proved</Chip>}</div>
        <p>{broken ? visible(broken) : failed ? "Do not rely on what this ledger shows. Keep the evidence, and ask its keeper." : unfinished ? "Nothing is wrong as far as it went, and nothing is proved." : end ? <>Signed by key {end.key.split("+")[1]}, received {received}.{none > 0 && (has("key") ? " Whether others see the same was not proved." : has("witness") ? " Whose key that is was not proved." : " Whose key that is, and whether others see the same, was not proved.")}</> : progress ? `${grouped(progress.done)} of ${grouped(progress.total)} entries, ${bytesText(progress.bytes)}` : "Asking for the signed checkpoint"}</p>
        {!over && progress && <div class="progress" role="progressbar" aria-label="Entries hashed" aria-valuemin={0} aria-valuemax={progress.total} aria-valuenow={progress.done}><span style={`width:${(100 * progress.done) / Math.max(1, progress.total)}%`} /></div>}</div>
      {actions && <div class="actions">{actions}</div>}
    </section>
    {checks.length > 0 && <section class="section"><div class="section-head"><h2>Checks</h2><div class="side">{held} held{failed ? ", 1 failed" : ""}, {none} could not be made{end ? ` · ${(end.ms / 1000).toFixed(2)} s` : ""}</div></div>
      <div class="card flush checks">{checks.map((check) => <div key={check.id} class={`check-row ${SHAPES[check.outcome][1]}`} data-check={check.id} data-outcome={check.outcome}><Icon shape={SHAPES[check.outcome][0]} /><div><strong>{check.title}{check.outcome === "failed" && ": failed"}</strong><p>{visible(check.text)}</p>
        {check.expected && <p>Signed: <code>{check.expected}</code></p>}{check.found && <p>Found: <code>{check.found}</code></p>}</div><span class="took">{took(check)}</span></div>)}</div></section>}
    {end && <div class="two"><section class="card"><div class="card-head"><h2>What this shows</h2></div><ul class="bullets">
      <li>Nobody changed, removed or reordered an entry after it was signed, as far as this key tells.</li>
      {has("history") && <li>Since this browser first looked, nothing that it saw was rewritten.</li>}
      {has("key") && <li>The key that you gave signed it.</li>}{has("witness") && <li>The witness that you named saw the same registry.</li>}
      <li>{source === "server" ? `${plural(end.size, "entry", "entries")} and no others make up the ledger at this checkpoint.` : "Its readable copies (events.jsonl, statement.json) were not compared: nobody signs them."}</li></ul></section>
      <section class="card"><div class="card-head"><h2>What it does not show</h2></div><ul class="bullets">
        {!has("key") && <li>That the key belongs to your organisation. Compare <code>{end.key.split("+").slice(1).join("+").slice(0, 20)}…</code> with one you got another way.</li>}
        {!has("witness") && <li>That others see this same history: that takes a witness.</li>}
        <li>That any number of the cost follows from the entries. No accounting is done here; <code>dpledger ledger verify</code> does it, from a bundle.</li>
        {shows}<li>That the trainer recorded all it did, and did what it recorded.</li></ul></section></div>}
  </>;
}

export function Drop({ take, children }: { take: (file: File) => void; children: preact.ComponentChildren }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return <div class={`drop ${over ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
    onDrop={(event) => { event.preventDefault(); setOver(false); const file = event.dataTransfer?.files[0]; if (file) take(file); }}>
    {children}<input ref={input} class="hidden" type="file" aria-label="Bundle file" tabIndex={-1} onChange={(event) => { const file = event.currentTarget.files?.[0]; if (file) take(file); event.currentTarget.value = ""; }} />
    <button type="button" class="button" onClick={() => input.current?.click()}>Choose a bundle file</button></div>;
}
export function KeysField({ value, change }: { value: string; change: (text: string) => void }) {
  return <label class="field">Keys that you got another way, one a line (a log’s or a witness’s verifier key)<textarea rows={2} value={value} spellcheck={false} placeholder="name+12345678+AbCd…" onInput={(event) => change(event.currentTarget.value)} /></label>;
}
