// Answers questions by the accountant as WebAssembly: node answers.mjs INSTANCE.js ACCOUNTANT.wasm < questions
// A question a line, ["ComputeEpsilon", {...}]; an answer a line, {"answer": ...} or {"error": [code, message]},
// and last {"ms": of all answers}.
import { readFileSync } from "node:fs";

const [script, wasm] = process.argv.slice(2);
const { AccountingError, Instance } = await import(script);
const instance = await Instance.start(await WebAssembly.compile(readFileSync(wasm)));
const lines = readFileSync(0, "utf8").trim().split("\n");
const start = performance.now();
const answers = lines.map((line) => {
  const [method, question] = JSON.parse(line);
  try {
    return { answer: instance.call(method, question) };
  } catch (error) {
    if (!(error instanceof AccountingError)) throw error;
    return { error: [error.code, error.message] };
  }
});
answers.push({ ms: performance.now() - start });
process.stdout.write(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(""));
