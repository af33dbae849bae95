// One file, opened from the reader's own disk: it checks bundles, fetches nothing and keeps
// nothing. A page that a server sends cannot convict that server; this one can.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { hex } from "../api/bytes";
import { Button, Title } from "../parts/parts";
import { visible } from "../text/names";
import type { Document } from "../verify/document_check";
import { givenKeys } from "../verify/note";
import { sha256 } from "../verify/sha256";
import { Drop, KeysField, namesOf, useChecks, Verdict } from "../verify/verdict";

// Beside the script, as data: what is no script asks no policy.
const accountant = document.getElementById("accountant")?.textContent ?? undefined;

function Verifier() {
  const [keys, setKeys] = useState("");
  const [files, setFiles] = useState<File[] | undefined>();
  const [document, setDocument] = useState<Document | undefined>();
  const [tries, setTries] = useState(0);
  const given = givenKeys(keys).keys.map((key) => key.text);
  const job = useMemo(
    () => files && { files, given, kept: [], document, accountant },
    [files, tries, document, given.join("\n")],
  );
  const running = useChecks(job);
  const begin = (chosen: File[]) => {
    setFiles(chosen);
    setTries(tries + 1); // the same file may have changed
  };
  const takeDocument = async ([chosen]: File[]) =>
    setDocument({
      name: chosen.name,
      sha256: hex(sha256(new Uint8Array(await chosen.arrayBuffer()))),
    });
  return (
    <main>
      <Title
        title="dpledger verifier"
        about={
          "Checks a ledger’s bundle on this machine. Nothing is sent or fetched: this file holds " +
          "all that it needs."
        }
        actions={job && <Button onClick={() => setTries(tries + 1)}>Run again</Button>}
      />
      {job && (
        <Verdict
          running={running}
          name={namesOf(job.files)}
          files={job.files.length}
          shows={
            "That this file is the one that was released. Compare its SHA-256 with the release’s " +
            "signed list."
          }
        />
      )}
      <Drop several take={begin}>
        <strong>Drop a bundle here, or a budget’s with those of its runs</strong>
        <span>
          Made by <code>dpledger ledger export</code>
        </span>
      </Drop>
      <Drop what="statement" take={takeDocument}>
        <strong>{document ? visible(document.name) : "Were you handed a statement?"}</strong>
        <span>
          Drop it here beside the bundle of the register, <code>projects/statements</code>
        </span>
      </Drop>
      <KeysField value={keys} change={setKeys} />
    </main>
  );
}
render(<Verifier />, document.getElementById("page")!);
