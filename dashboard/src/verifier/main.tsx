// One file, opened from the reader's own disk: it checks bundles, fetches nothing and keeps
// nothing. A page that a server sends cannot convict that server; this one can.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, Title } from "../parts/parts";
import { givenKeys } from "../verify/note";
import { Drop, KeysField, useChecks, Verdict } from "../verify/verdict";

function Verifier() {
  const [keys, setKeys] = useState("");
  const [file, setFile] = useState<File | undefined>();
  const [tries, setTries] = useState(0);
  const given = givenKeys(keys).keys.map((key) => key.text);
  const job = useMemo(() => file && { file, given, kept: [] }, [file, tries, given.join("\n")]);
  const running = useChecks(job);
  const begin = (chosen: File) => {
    setFile(chosen);
    setTries(tries + 1); // the same file may have changed
  };
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
