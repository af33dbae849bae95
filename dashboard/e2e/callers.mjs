// Those who ask a server that knows its callers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { command, until } from "./case.mjs";

export const firstToken = (server) =>
  readFileSync(join(server.folder, "store.tokens.first-admin"), "utf8").trim();
export const newToken = (bin, server, name, grant, ...more) =>
  JSON.parse(
    command(
      bin,
      "admin",
      "token",
      "create",
      name,
      "--grant",
      grant,
      ...more,
      "--server",
      server.address,
      "--token-file",
      join(server.folder, "store.tokens.first-admin"),
      "--json",
    ),
  ).secret;
export async function signIn(tab, secret) {
  await until(tab, () => document.querySelector("dialog[open] input[type=password]"));
  await tab.fill("dialog input[type=password]", secret);
  await tab.click("dialog button[type=submit]");
  await until(tab, () => !document.querySelector("dialog[open]"));
}
