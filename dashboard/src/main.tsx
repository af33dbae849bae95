// The page: which view stands at which address.
import { render, type ComponentChild } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { startSession } from "./api/session";
import { startLive } from "./live";
import { A, Empty, Title } from "./parts/parts";
import { place, startRouter, thingOf, type Thing } from "./router";
import { Shell } from "./shell";
import { startTheme } from "./theme";
import { ledgerName, visible } from "./text/names";
import { Dataset, datasetJson } from "./views/dataset";
import { Datasets, datasetsJson } from "./views/datasets";
import { Lazy } from "./views/lazy";
import { Ledger, ledgerJson } from "./views/ledger";
import { Ledgers, ledgersJson } from "./views/ledgers";
import { activityJson, recomputeJson, statementJson } from "./views/requests";

// Of each view, its name, the call that it is made of, and what shows it.
interface Shown {
  title: string;
  json?: string;
  view: ComponentChild;
}
function shownOf(thing: Thing): Shown {
  switch (thing.view) {
    case "datasets":
      return { title: "Data sets", json: datasetsJson(), view: <Datasets /> };
    case "dataset": {
      const { name } = thing;
      return {
        title: "Data set",
        json: datasetJson(name),
        view: <Dataset key={name} name={name} />,
      };
    }
    case "ledgers":
      return { title: "Ledgers", json: ledgersJson(), view: <Ledgers /> };
    case "ledger": {
      const name = ledgerName(thing.project, thing.id);
      const view = <Ledger key={name} name={name} entry={thing.entry} />;
      return { title: "Ledger", json: ledgerJson(name), view };
    }
    case "verify": {
      const name = thing.id && ledgerName(thing.project!, thing.id);
      return { title: "Verify", view: <Lazy of="verify" key={`verify ${name}`} name={name} /> };
    }
    case "statement": {
      const { ledger, dataset } = thing;
      const json = statementJson(ledger, dataset);
      const key = `statement ${ledger} ${dataset}`;
      const view = <Lazy of="statement" key={key} ledger={ledger} dataset={dataset} />;
      return { title: "Statement", json, view };
    }
    case "recompute": {
      const { operation } = thing;
      const view = <Lazy of="recompute" key={`recompute ${operation}`} operation={operation} />;
      return { title: "Recompute", json: recomputeJson(operation), view };
    }
    case "activity":
      return { title: "Activity", json: activityJson(), view: <Lazy of="activity" /> };
    case "nothing": {
      const view = (
        <>
          <Title title="Nothing is here" />
          <Empty title="This page has no such address">
            <A href="/ledgers">All ledgers</A>
          </Empty>
        </>
      );
      return { title: "Nothing here", view };
    }
  }
}

// The focus goes to the title of a new view, which is said then. It may not be there yet, and may
// be drawn anew; a reader who has moved on keeps his place.
const FOLLOW_MS = 3000;
function followTitle() {
  const end = Date.now() + FOLLOW_MS;
  let [stop, focused] = [false, false];
  const move = () => {
    const { activeElement: now } = document;
    const title = document.querySelector<HTMLElement>("main h1");
    const left = now !== document.body && focused && now !== title;
    if (stop || left || document.querySelector("dialog[open]")) return;
    if (title && now !== title) title.focus({ preventScroll: true });
    focused ||= !!title;
    if (Date.now() < end) requestAnimationFrame(move);
  };
  move();
  return () => (stop = true);
}

function App() {
  const thing = thingOf(place.value);
  const { title, json, view } = shownOf(thing);
  const open = place.value.query.get("open") ?? "";
  const where = `${place.value.path.join("/")} ${"name" in thing ? thing.name : ""}`;
  const first = useRef(where);
  useEffect(() => {
    if (first.current === where) return;
    first.current = "";
    return followTitle();
  }, [where]);
  const about = "id" in thing && thing.id ? thing.id : "name" in thing ? thing.name : "";
  useEffect(() => {
    document.title = `${about ? `${visible(about)} · ` : ""}${title} · dpledger`;
  }, [title, about]);
  return (
    <Shell json={json}>
      {view}
      {open.startsWith("compare:") && <Lazy of="compare" names={open.slice(8)} />}
      {open === "search" && <Lazy of="search" />}
      {(open === "plan" || open.startsWith("plan:")) && <Lazy of="plan" />}
    </Shell>
  );
}

// The same address with format=json gives the data: the call that the view is made of.
const asked = place.value.query.get("format") === "json" && shownOf(thingOf(place.value)).json;
if (asked) location.replace(asked);
else {
  startTheme();
  startRouter();
  startSession();
  startLive();
  render(<App />, document.getElementById("page")!);
}
