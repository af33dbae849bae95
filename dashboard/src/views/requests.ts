// The calls of the views that are fetched when they are opened: their address with format=json must
// not wait for that.
import { jsonAddress } from "../api/client";
import type {
  AccountingOptions,
  GetStatementRequest,
  ListAccessRequest,
  Method,
} from "../api/types";
import { givenDelta, givenSize, place } from "../router";
import { fullName } from "../text/names";

export const ALL = { parent: "projects/-", pageSize: 1000 }; // ledgers, or data sets
export const OPERATIONS = { pageSize: 50 };

export function givenOptions(): AccountingOptions | undefined {
  const method = place.value.query.get("method")?.toUpperCase() as Method | undefined;
  return method && { method };
}

export function statementRequest(ledger?: string, dataset?: string): GetStatementRequest {
  const delta = givenDelta();
  const options = givenOptions();
  if (dataset !== undefined) return { dataset, delta, options };
  return { ledger: fullName(ledger ?? ""), delta, options, upToSequence: givenSize() };
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
  return jsonAddress("AdminService/ListAccess", accessRequest() ?? {});
}
