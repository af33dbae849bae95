// A real server on a free loopback port, in a folder of its own, and calls to it.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Runs a program until it has written its address; { child, ended, address }.
export async function startProgram(path, words, portFile) {
  rmSync(portFile, { force: true });
  const child = spawn(path, [...words, "--port-file", portFile, "--log-level", "error"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = new Promise((done) => child.on("exit", done));
  const end = () => child.kill("SIGKILL"); // a run that breaks off leaves no program behind
  process.once("exit", end);
  ended.then(() => process.off("exit", end));
  while (!existsSync(portFile) || !readFileSync(portFile, "utf8").trim()) {
    if (child.exitCode !== null) throw new Error(`${path} does not start`);
    await sleep(20);
  }
  return { child, ended, address: readFileSync(portFile, "utf8").trim() };
}

export async function startServer({
  bin,
  page,
  flags = [],
  listen = "127.0.0.1:0",
  folder = mkdtempSync(join(tmpdir(), "dpledger-page-")),
}) {
  const { child, ended, address } = await startProgram(
    join(bin, "dpledger-server"),
    [
      "--listen",
      listen,
      "--store",
      join(folder, "store"),
      "--http-files",
      page,
      "--checkpoint-seconds",
      "0.2",
      "--max-connections-per-host",
      "200",
      ...flags,
    ],
    join(folder, "port"),
  );
  const base = `http://${address}`;
  let token = "";
  return {
    folder,
    address,
    base,
    child,
    useToken: (secret) => (token = secret),
    async call(method, request = {}) {
      const answer = await fetch(`${base}/dpledger.v1.${method}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(request),
      });
      const body = await answer.json();
      if (!answer.ok)
        throw Object.assign(new Error(`${method}: ${body.code}: ${body.message}`), {
          code: body.code,
        });
      return body;
    },
    async stop({ keep = false, signal = "SIGTERM" } = {}) {
      child.kill(signal);
      await ended;
      if (!keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}
