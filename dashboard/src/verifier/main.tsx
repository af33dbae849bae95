// One file, opened from the reader's own disk: it checks bundles, fetches nothing and keeps
// nothing. A page that a server sends cannot convict that server; this one can.
import { render } from "preact";
import { useState } from "preact/hooks";
import { Button, Title } from "../parts/parts";
import type { Job } from "../verify/check";
import { Drop, KeysField, useChecks, Verdict } from "../verify/verdict";

function Verifier() {
  const [keys, setKeys] = useState("");
  const [job, setJob] = useState<(Job & { file: File }) | undefined>();
  const running = useChecks(job);
  const begin = (file: File) => setJob({ file, keys });
  return (
    <main>
      <Title
        title="dpledger verifier"
        about={
          "Checks a ledger’s bundle on this machine. Nothing is sent or fetched: this file holds " +
          "all that it needs."
        }
        actions={job && <Button onClick={() => begin(job.file)}>Run again</Button>}
      />
      {job && (
        <Verdict
          running={running}
          name={job.file.name}
          source="bundle"
          shows={
            "That this file is the one that was released. Compare its SHA-256 with the release’s " +
            "signed list."
          }
        />
      )}
      <Drop take={begin}>
        <strong>Drop a bundle here</strong>
        <span>
          Made by <code>dpledger ledger export</code>
        </span>
      </Drop>
      <KeysField value={keys} change={setKeys} />
    </main>
  );
}
render(<Verifier />, document.getElementById("page")!);
