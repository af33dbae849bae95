// The calls of the views that are fetched when they are opened: their address with format=json must
// not wait for that.
import { jsonAddress } from "../api/client";
import type { GetStatementRequest, ListAccessRequest } from "../api/types";
import { givenDelta, place } from "../router";
import { fullName } from "../text/names";

export const ALL = { parent: "projects/-", pageSize: 1000 }; // ledgers, or data sets
export const OPERATIONS = { pageSize: 50 };

// A prefix is asked about by its size; without one, all that there is.
export function givenSize(): string | undefined {
  const size = place.value.query.get("size") ?? "";
  return /^[1-9]\d{0,18}$/.test(size) ? size : undefined;
}

export function statementRequest(ledger?: string, dataset?: string): GetStatementRequest {
  const delta = givenDelta();
  if (dataset !== undefined) return { dataset, delta };
  return { ledger: fullName(ledger ?? ""), delta, upToSequence: givenSize() };
}
export const statementJson = (ledger?: string, dataset?: string) =>
  ledger || dataset
    ? jsonAddress("StatementService/GetStatement", statementRequest(ledger, dataset))
    : undefined;
export const recomputeJson = (operation?: string) =>
  operation
    ? jsonAddress("RecomputeService/ListRecomputed", {
        name: `operations/${operation}`,
        pageSize: 1000,
      })
    : jsonAddress("RecomputeService/ListOperations", OPERATIONS);

// What is asked of the access record; undefined where the address asks nothing of it.
export function accessRequest(): ListAccessRequest | undefined {
  const { query } = place.value;
  const [ledger, caller, permission] = ["ledger", "caller", "permission"].map(
    (name) => query.get(name) ?? "",
  );
  const refused = query.get("refused") === "1";
  if (!ledger && !caller && !permission && !refused) return undefined;
  return { resource: ledger && fullName(ledger), caller, permission, refused };
}
export function activityJson() {
  const asked = accessRequest();
  return asked
    ? jsonAddress("AdminService/ListAccess", asked)
    : jsonAddress("AuditService/GetCheckpoint", {});
}
