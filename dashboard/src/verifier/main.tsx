// One file, opened from the reader's own disk: it checks bundles, fetches nothing and keeps nothing. A page that a server
// sends cannot convict that server; this one can.
import { render } from "preact";
import { useState } from "preact/hooks";
import type { Job } from "../verify/check";
import { Drop, KeysField, useChecks, Verdict } from "../verify/verdict";

function Verifier() {
  const [keys, setKeys] = useState("");
  const [file, setFile] = useState<File | undefined>();
  const [job, setJob] = useState<Job | undefined>();
  const begin = (from: File) => {
    setFile(from);
    setJob({ file: from, keys });
  };
  const running = useChecks(job);
  return <main><header class="title"><div class="title-words"><h1>dpledger verifier</h1><p class="about">Checks a ledger’s bundle on this machine. Nothing is sent or fetched: this file holds all that it needs.</p></div>
    {file && <div class="actions"><button type="button" class="button" onClick={() => begin(file)}>Run again</button></div>}</header>
    {job && file && <Verdict running={running} name={file.name} source="bundle" shows={<li>That this file is the one that was released. Compare its SHA-256 with the release’s signed list.</li>} />}
    <Drop take={begin}><strong>Drop a bundle here</strong><span>Made by <code>dpledger ledger export</code></span></Drop>
    <KeysField value={keys} change={setKeys} /></main>;
}
render(<Verifier />, document.getElementById("page")!);
