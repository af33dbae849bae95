// Is the record whole? Every check runs in this browser, on the bytes that the server sends or that
// a bundle holds.
import { useEffect, useState } from "preact/hooks";
import { headers } from "../api/client";
import { useCall } from "../api/use_call";
import { download } from "../parts/download";
import { A, Button, Card, Failed, Notice, Title } from "../parts/parts";
import { urlOf } from "../prefix";
import { go, ledgerAddress, place, setQuery, verifyAddress } from "../router";
import { Name, shortName } from "../text/names";
import type { End, Job } from "../verify/check";
import { checkedHere, everythingSeen, keepSeen } from "../verify/kept";
import { Drop, KeysField, useChecks, Verdict } from "../verify/verdict";
import { ALL } from "./requests";

export function Verify({ name }: { name?: string }) {
  const [job, setJob] = useState<(Job & { file?: File }) | undefined>();
  const file = job?.file;
  const keys = place.value.query.get("keys") ?? "";
  const begin = (from: File | undefined) => {
    const server = name && { base: location.origin + urlOf(""), ledger: name, headers: headers() };
    const base = { keys, seen: everythingSeen() };
    setJob(from ? { ...base, file: from } : server ? { ...base, server } : undefined);
  };
  useEffect(() => begin(undefined), [name]);
  const running = useChecks(job, ({ size, key, registry }: End) => {
    keepSeen(registry.origin, { size: registry.size, root: registry.root, key });
    if (!file && name) checkedHere.set(name, size);
  });
  const { end } = running;
  const shown = file ? file.name : name ? shortName(name) : "";
  const wrongKeys = running.checks.some(
    (check) => check.outcome === "failed" && check.text.includes("verifier key"),
  );
  const again = () => begin(file);
  const about = shown ? (
    <>
      Every check runs in this browser, on {file ? "the bytes of the file" : "bytes fetched now"}.
      The page’s own code came from this server too: see the last list.
    </>
  ) : (
    "Is the record whole, and is it the one that was signed?"
  );
  const trail = name && (
    <>
      <A href="/ledgers">Ledgers</A> /{" "}
      <A href={ledgerAddress(name)}>
        <Name of={shortName(name)} />
      </A>
    </>
  );
  const title = shown ? (
    <>
      Verify <Name of={shown} />
    </>
  ) : (
    "Verify"
  );
  const keep = end && (
    <Button
      onClick={() =>
        download(`${shown}.checkpoint`, "text/plain", `${end.note}\n${end.registry.note}`)
      }
    >
      Keep this checkpoint
    </Button>
  );
  return (
    <>
      <Title
        trail={trail}
        title={title}
        about={about}
        actions={job && <Button onClick={again}>Run again</Button>}
      />
      {!isSecureContext && (
        <Notice shape="attend" tone="warn" title="This page came over plain HTTP">
          Anybody between the server and you can change the page and its answers. Signatures are
          checked by the page’s own code here.
        </Notice>
      )}
      {job ? (
        <Verdict
          running={running}
          name={shown}
          source={file ? "bundle" : "server"}
          actions={keep}
          shows={
            <>
              That this page is honest: the server that it checks sent it. A bundle, with a{" "}
              <a href={urlOf("/verifier/dpledger-verifier.html")} download>
                verifier of your own
              </a>{" "}
              or the command line, decides that.
            </>
          }
        />
      ) : (
        <Choose />
      )}
      <Card title={job ? "Check something else" : "Check a bundle"}>
        <Drop take={begin}>
          <strong>Drop a bundle here</strong>
          <span>
            It is checked in this browser, and sent nowhere. <code>dpledger ledger export</code>{" "}
            makes one.
          </span>
        </Drop>
        <KeysField value={keys} change={(text) => setQuery({ keys: text })} />
        {wrongKeys && <p class="bad-text">A line above is not a verifier key.</p>}
        {job && <Button onClick={again}>Check with these keys</Button>}
      </Card>
    </>
  );
}

function Choose() {
  const ledgers = useCall("LedgerService/ListLedgers", ALL);
  const [text, setText] = useState("");
  const known = (ledgers.data?.ledgers ?? []).map((ledger) => ledger.name ?? "");
  const found = known.find((name) => shortName(name) === text || name === text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (found) go(verifyAddress(found));
  };
  return (
    <Card title="Check a ledger of this server">
      {ledgers.error && <Failed error={ledgers.error} what="the ledgers" again={ledgers.again} />}
      <form onSubmit={submit}>
        <label class="field">
          Ledger
          <input
            list="known-ledgers"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <datalist id="known-ledgers">
          {known.map((name) => (
            <option key={name} value={shortName(name)} />
          ))}
        </datalist>
        <Button class="button primary" type="submit" disabled={!found}>
          Check it
        </Button>
      </form>
    </Card>
  );
}
