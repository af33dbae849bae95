// The calls of the views that are fetched when they are opened: their address with format=json must not wait for that.
import { jsonAddress } from "../api/client";
import type { GetStatementRequest } from "../api/types";
import { place } from "../router";

export const OPERATIONS = { pageSize: 50 };
export const fullName = (text: string) => (text.startsWith("projects/") ? text : text.includes("/") ? `projects/${text.split("/")[0]}/ledgers/${text.split("/")[1]}` : `projects/default/ledgers/${text}`);

export function statementRequest(ledger?: string, dataset?: string): GetStatementRequest {
  const { query } = place.value;
  const delta = Number(query.get("delta"));
  const request: GetStatementRequest = dataset !== undefined ? { dataset } : { ledger: fullName(ledger ?? "") };
  if (delta > 0 && delta < 1) request.delta = delta;
  if (query.get("size") && ledger) request.upToSequence = query.get("size")!;
  return request;
}
export const statementJson = (ledger?: string, dataset?: string) => (ledger || dataset ? jsonAddress("StatementService/GetStatement", statementRequest(ledger, dataset)) : undefined);
export const recomputeJson = (operation?: string) =>
  operation ? jsonAddress("RecomputeService/ListRecomputed", { name: `operations/${operation}`, pageSize: 1000 }) : jsonAddress("RecomputeService/ListOperations", OPERATIONS);
export const activityJson = () => jsonAddress("AuditService/GetCheckpoint", {});
