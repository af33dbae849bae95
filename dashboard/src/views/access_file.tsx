// The access record as a file.
import { useState } from "preact/hooks";
import { everyPage, type CallError } from "../api/client";
import type { Access, ListAccessRequest } from "../api/types";
import { downloadCsv } from "../parts/download";
import { Button, Failed } from "../parts/parts";
import { grouped } from "../text/numbers";

// A line as text, of which a file has one row.
const csvRow = (line: Access) => ({
  time: line.time,
  caller: line.caller,
  from: line.peer,
  refused: line.refused && (line.refused.permission || (line.caller ? "a question" : "sign-in")),
  refused_on: line.refused?.resource,
  refused_reason: line.refused?.reason,
  refused_times: line.refused && (line.refused.count ?? 1),
  administers: line.administers?.method,
  administers_about: line.administers?.about,
  reads: (line.reads ?? [])
    .map(({ permission, resource = "", count = "1", entries }) =>
      [permission, resource, `${count} times`, entries && `${entries} entries`]
        .filter(Boolean)
        .join(" "),
    )
    .join("; "),
});
// Every page of the record, however far back.
export function AccessFile({ of: request }: { of: ListAccessRequest }) {
  const [got, setGot] = useState<number | undefined>();
  const [error, setError] = useState<CallError | undefined>();
  const write = async () => {
    const lines: Access[] = [];
    setError(undefined);
    setGot(0);
    try {
      const all = { ...request, pageSize: 1000 };
      await everyPage("AdminService/ListAccess", all, ({ access = [] }) => {
        setGot(lines.push(...access));
      });
      downloadCsv("access-record", lines.map(csvRow));
    } catch (failed) {
      setError(failed as CallError);
    }
    setGot(undefined);
  };
  return (
    <>
      <Button class="link" disabled={got !== undefined} onClick={write}>
        {got === undefined ? "CSV of all pages" : `CSV: ${grouped(got)} read`}
      </Button>
      {error && <Failed error={error} what="all of the record for the file" />}
    </>
  );
}
