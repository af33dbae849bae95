// Is the record whole? Every check runs in this browser, on the bytes that the server sends or that a bundle holds.
import { useEffect, useState } from "preact/hooks";
import { headers } from "../api/client";
import { useCall } from "../api/use_call";
import { A, Card, download, Failed, Notice, Title } from "../parts/parts";
import { go, ledgerAddress, place, setQuery, verifyAddress } from "../router";
import { ledgerName, Name, shortName } from "../text/names";
import type { End, Job } from "../verify/check";
import { keepChecked, keepSeen, seenOf, type Seen } from "../verify/kept";
import { Drop, KeysField, useChecks, Verdict } from "../verify/verdict";

function remember(end: End) {
  const before = seenOf(end.origin);
  if (before && BigInt(before.size) > BigInt(end.registrySize)) return;
  keepSeen(end.origin, { size: end.registrySize, root: end.registryRoot, time: Date.now(), key: end.key, firstSeen: before?.firstSeen ?? Date.now() });
}
function everythingSeen(): Record<string, Seen> {
  const all: Record<string, Seen> = {};
  try {
    for (let i = 0; i < localStorage.length; i++) {
      const key = localStorage.key(i)!;
      const origin = key.replace(/^dpledger\.registry\./, "");
      const seen = origin !== key && seenOf(origin);
      if (seen) all[origin] = seen;
    }
  } catch { /* a browser that keeps nothing */ }
  return all;
}

export function Verify({ project, id }: { project?: string; id?: string }) {
  const name = project && id ? ledgerName(project, id) : undefined;
  const [file, setFile] = useState<File | undefined>();
  const [job, setJob] = useState<Job | undefined>();
  const keys = place.value.query.get("keys") ?? "";
  const begin = (from: File | undefined) => {
    setFile(from);
    const base: Omit<Job, "server" | "file"> = { keys: place.value.query.get("keys") ?? "", seen: everythingSeen() };
    setJob(from ? { ...base, file: from } : name ? { ...base, server: { base: location.origin, ledger: name, headers: headers() } } : undefined);
  };
  useEffect(() => begin(undefined), [name]);
  const running = useChecks(job, (end) => {
    remember(end);
    if (!job?.file && name) keepChecked(name, { size: end.size, root: end.root, time: Date.now() });
  });
  const shown = file ? file.name : name ? shortName(name) : "";
  const wrongKeys = running.checks.some((check) => check.outcome === "failed" && check.text.includes("verifier key"));
  return <>
    <Title trail={name && <><A href="/ledgers">Ledgers</A> / <A href={ledgerAddress(name)}><Name of={shortName(name)} /></A></>} title={shown ? <>Verify <Name of={shown} /></> : "Verify"}
      about={shown ? <>Every check runs in this browser, on {file ? "the bytes of the file" : "bytes fetched now"}. The page’s own code came from this server too: see the last list.</> : "Is the record whole, and is it the one that was signed?"}
      actions={job && <button type="button" class="button" onClick={() => begin(file)}>Run again</button>} />
    {!isSecureContext && <Notice shape="attend" tone="warn" title="This page came over plain HTTP">Anybody between the server and you can change the page and its answers. Signatures are checked by the page’s own code here.</Notice>}
    {job && <Verdict running={running} name={shown} source={file ? "bundle" : "server"}
      actions={running.end && <button type="button" class="button" onClick={() => download(`${shown}.checkpoint`, "text/plain", running.end!.note + "\n" + running.end!.registryNote)}>Keep this checkpoint</button>}
      shows={<li>That this page is honest: the server that it checks sent it. A bundle, with a <a href="/verifier/dpledger-verifier.html" download>verifier of your own</a> or the command line, decides that.</li>} />}
    {!job && <Choose />}
    <Card title={job ? "Check something else" : "Check a bundle"}>
      <Drop take={begin}><strong>Drop a bundle here</strong><span>It is checked in this browser, and sent nowhere. <code>dpledger ledger export</code> makes one.</span></Drop>
      <KeysField value={keys} change={(text) => setQuery({ keys: text })} />
      {wrongKeys && <p class="bad-text">A line above is not a verifier key.</p>}
      {job && <button type="button" class="button" onClick={() => begin(file)}>Check with these keys</button>}
    </Card>
  </>;
}

function Choose() {
  const ledgers = useCall("LedgerService/ListLedgers", { parent: "projects/-", pageSize: 500 });
  const [text, setText] = useState("");
  const known = (ledgers.data?.ledgers ?? []).map((ledger) => ledger.name ?? "");
  const submit = (event: Event) => {
    event.preventDefault();
    const found = known.find((name) => shortName(name) === text || name === text);
    if (found) go(verifyAddress(found));
  };
  return <Card title="Check a ledger of this server">{ledgers.error && <Failed error={ledgers.error} what="the ledgers" again={ledgers.again} />}
    <form onSubmit={submit}><label class="field">Ledger<input list="known-ledgers" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <datalist id="known-ledgers">{known.map((name) => <option key={name} value={shortName(name)} />)}</datalist><button class="button primary" type="submit" disabled={!known.some((name) => shortName(name) === text || name === text)}>Check it</button></form></Card>;
}
