// A real server on a free loopback port, in a folder of its own, and calls to it.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function startServer({ bin, page, flags = [], folder = mkdtempSync(join(tmpdir(), "dpledger-page-")) }) {
  const portFile = join(folder, "port");
  rmSync(portFile, { force: true });
  const child = spawn(
    join(bin, "dpledger-server"),
    ["--listen", "127.0.0.1:0", "--port-file", portFile, "--store", join(folder, "store"), "--http-files", page,
      "--checkpoint-seconds", "0.2", "--log-level", "error", "--max-connections-per-host", "200", ...flags],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const ended = new Promise((done) => child.on("exit", done));
  while (!existsSync(portFile) || !readFileSync(portFile, "utf8").trim()) {
    if (child.exitCode !== null) throw new Error("the server does not start");
    await sleep(20);
  }
  const address = readFileSync(portFile, "utf8").trim();
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
        headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(request),
      });
      const body = await answer.json();
      if (!answer.ok) throw Object.assign(new Error(`${method}: ${body.code}: ${body.message}`), { code: body.code });
      return body;
    },
    async stop({ keep = false, signal = "SIGTERM" } = {}) {
      child.kill(signal);
      await ended;
      if (!keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}
