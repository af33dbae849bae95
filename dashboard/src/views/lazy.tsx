// What few readers open, or what stands below the numbers, is fetched when it is wanted.
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { generation } from "../live";
import { Button, Empty, Loading } from "../parts/parts";

const LAZY = {
  verify: () => import("./verify").then((module) => module.Verify),
  compare: () => import("./compare").then((module) => module.Compare),
  statement: () => import("./statement").then((module) => module.Statement),
  recompute: () => import("./recompute").then((module) => module.Recompute),
  activity: () => import("./activity").then((module) => module.Activity),
  plan: () => import("./plan").then((module) => module.Plan),
  search: () => import("./search").then((module) => module.Search),
  charts: () => import("./ledger_charts").then((module) => module.LedgerCharts),
};
type Any = (props: any) => ComponentChild;
// A part that could not be fetched is tried again when the server is heard of, and when told.
export function Lazy({ of: name, ...props }: { of: keyof typeof LAZY } & Record<string, unknown>) {
  const [Part, setPart] = useState<Any | null>(null);
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    LAZY[name]().then(
      (found) => setPart(() => found as Any),
      () => setFailed(true),
    );
  }, [name, tries, failed && generation.value]);
  if (Part) return <Part {...props} />;
  if (!failed) return <Loading what="this view" />;
  return (
    <Empty title="A part of the page could not be fetched">
      It is asked for again as soon as the server can be reached.{" "}
      <Button onClick={() => setTries(tries + 1)}>Ask again</Button>
    </Empty>
  );
}
