// The page: which view stands at which address.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { startSession } from "./api/session";
import { startLive } from "./live";
import { A, Empty, Loading, Title } from "./parts/parts";
import { place, startRouter, thingOf, type Thing } from "./router";
import { Shell } from "./shell";
import { startTheme } from "./theme";
import { ledgerName, visible } from "./text/names";
import { Dataset, datasetJson } from "./views/dataset";
import { Datasets, datasetsJson } from "./views/datasets";
import { Ledger, ledgerJson } from "./views/ledger";
import { Ledgers, ledgersJson } from "./views/ledgers";
import { activityJson, recomputeJson, statementJson } from "./views/requests";

// What few readers open is fetched when they do.
const LAZY = {
  verify: () => import("./views/verify").then((module) => module.Verify),
  compare: () => import("./views/compare").then((module) => module.Compare),
  statement: () => import("./views/statement").then((module) => module.Statement),
  recompute: () => import("./views/recompute").then((module) => module.Recompute),
  activity: () => import("./views/activity").then((module) => module.Activity),
  plan: () => import("./views/plan").then((module) => module.Plan),
};
type Any = (props: any) => preact.ComponentChild;
function Lazy({ of: name, ...props }: { of: keyof typeof LAZY } & Record<string, unknown>) {
  const [Part, setPart] = useState<Any | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    LAZY[name]().then((found) => setPart(() => found as Any), () => setFailed(true));
  }, [name]);
  if (failed) return <Empty title="A part of the page could not be fetched">Reload when the server can be reached.</Empty>;
  return Part ? <Part {...props} /> : <Loading what="this view" />;
}

function View({ thing }: { thing: Thing }) {
  switch (thing.view) {
    case "datasets": return <Datasets />;
    case "dataset": return <Dataset key={thing.name} name={thing.name} />;
    case "ledgers": return <Ledgers />;
    case "ledger": return <Ledger key={`${thing.project}/${thing.id}`} {...thing} />;
    case "verify": return <Lazy of="verify" key={`${thing.project}/${thing.id}`} {...thing} />;
    case "statement": return <Lazy of="statement" key={`${thing.ledger} ${thing.dataset}`} ledger={thing.ledger} dataset={thing.dataset} />;
    case "recompute": return <Lazy of="recompute" key={`recompute ${thing.operation}`} operation={thing.operation} />;
    case "activity": return <Lazy of="activity" />;
    case "nothing": return <><Title title="Nothing is here" /><Empty title="This page has no such address"><A href="/ledgers">All ledgers</A></Empty></>;
  }
}
function jsonOf(thing: Thing): string | undefined {
  switch (thing.view) {
    case "datasets": return datasetsJson();
    case "dataset": return datasetJson(thing.name);
    case "ledgers": return ledgersJson();
    case "ledger": return ledgerJson(ledgerName(thing.project, thing.id));
    case "statement": return statementJson(thing.ledger, thing.dataset);
    case "recompute": return recomputeJson(thing.operation);
    case "activity": return activityJson();
    default: return undefined;
  }
}
const TITLES: Record<Thing["view"], string> = { datasets: "Data sets", dataset: "Data set", ledgers: "Ledgers", ledger: "Ledger", verify: "Verify", statement: "Statement", recompute: "Recompute", activity: "Activity", nothing: "Nothing here" };

function App() {
  const thing = thingOf(place.value);
  const open = place.value.query.get("open") ?? "";
  const about = "id" in thing && thing.id ? thing.id : "name" in thing ? thing.name : "";
  useEffect(() => {
    document.title = `${about ? `${visible(about)} · ` : ""}${TITLES[thing.view]} · dpledger`;
  }, [thing.view, about]);
  return <Shell json={jsonOf(thing)}>
    <View thing={thing} />
    {open.startsWith("compare:") && <Lazy of="compare" names={open.slice(8)} />}
    {(open === "plan" || open.startsWith("plan:")) && <Lazy of="plan" />}
  </Shell>;
}

// The same address with format=json gives the data: the call that the view is made of.
const asked = jsonOf(thingOf(place.value));
if (place.value.query.get("format") === "json" && asked) location.replace(asked);
else {
  startTheme();
  startRouter();
  startSession();
  startLive();
  render(<App />, document.getElementById("page")!);
}
