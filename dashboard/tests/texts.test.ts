import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../src/parts/download";
import { prefixOf } from "../src/prefix";
import { thingOf, parsePlace } from "../src/router";
import { cut, visible } from "../src/text/names";
import { apart, completions, faultOf } from "../src/text/filter";
import { isAbove, typed, typedWhole } from "../src/text/numbers";
import { amount, digitsOf, grouped, percentUp, plainText } from "../src/text/numbers";
import { textNear, textUp } from "../src/text/numbers";
import { ticksOf } from "../src/chart/scale";
import { ageWords } from "../src/text/dates";
import { attackWords, cosigners, isGuarantee, readBlocks, regimeShort } from "../src/text/words";

// The number that a text says.
function value(text: string): number {
  const [, mantissa = "1", power] = /^(?:(.*) × )?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/.exec(text) ?? [];
  if (!power) return Number(text);
  const digits = [...power].map((one) => (one === "⁻" ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(one)));
  return Number(`${mantissa}e${digits.join("")}`);
}
const textDown = (x: number) => plainText(digitsOf(x, "down"));
test("an upper bound is never printed below itself, a lower one never above", () => {
  assert.equal(textUp(1.332042), "1.333"); // toPrecision says 1.332
  assert.equal(textDown(1.332042), "1.332");
  assert.equal(textUp(0.99991), "1.000");
  assert.equal(textUp(9.9996), "10.00");
  assert.equal(textDown(9.9996), "9.999");
  assert.equal(textUp(1.55), "1.550");
  assert.equal(textUp(0.5), "0.5000");
  let seed = 1;
  for (let i = 0; i < 20000; i++) {
    seed = (seed * 48271) % 2147483647;
    const x = Math.exp((seed / 2147483647 - 0.5) * 60);
    assert.ok(value(textUp(x)) >= x, `${x}: ${textUp(x)}`);
    assert.ok(value(textDown(x)) <= x, `${x}: ${textDown(x)}`);
    assert.ok(value(textUp(x)) <= x * 1.0011 && value(textDown(x)) >= x * 0.9989, `${x}`);
  }
});
test("numbers without digits have words", () => {
  assert.equal(textUp(Infinity), "no bound");
  assert.equal(textUp(0), "0");
  assert.equal(textNear(1e-5), "10⁻⁵");
  assert.equal(textUp(1.2e-13, 1), "2 × 10⁻¹³");
  assert.equal(percentUp(0.550333), "55.04 %");
  assert.equal(grouped("40649"), "40,649");
  assert.equal(grouped("9007199254740993"), "9,007,199,254,740,993");
  assert.equal(amount(16777216), "16,777,216");
  assert.equal(textUp(-1.2344), "−1.234");
});
test("nothing in a name is unseen", () => {
  assert.equal(visible("a\u202eb"), "a⟨U+202E⟩b");
  assert.equal(visible("a\u0000\u200b\u2066"), "a⟨U+0000⟩⟨U+200B⟩⟨U+2066⟩");
  assert.equal(visible("<b>ε é 数"), "<b>ε é 数");
  assert.equal([...cut("x".repeat(200))].length, 47);
});
test("an address names a thing, or nothing", () => {
  const thing = (address: string) => {
    const url = new URL(address, "http://x");
    return thingOf(parsePlace(url.pathname, url.search));
  };
  assert.deepEqual(thing("/"), { view: "datasets" });
  assert.deepEqual(thing("/dataset?name=..%2F..%2Fx%3Cb%3E"), {
    view: "dataset",
    name: "../../x<b>",
  });
  assert.deepEqual(thing("/ledger/default/a.b-c"), {
    view: "ledger",
    project: "default",
    id: "a.b-c",
  });
  assert.deepEqual(thing("/ledger/default/a/entry/12"), {
    view: "ledger",
    project: "default",
    id: "a",
    entry: "12",
  });
  assert.equal(thing(`/ledger/default/a/entry/sha256:${"0f".repeat(32)}`).view, "ledger");
  for (const wrong of [
    "/ledger/default/A",
    "/ledger/default",
    "/ledger/default/a/entry/x",
    "/ledger/default/a/entry/sha256:0f",
    "/nothing",
    "/ledgers/x",
    "/dataset",
    "/ledger/%E0%A4%A/a",
  ])
    assert.equal(thing(wrong).view, "nothing", wrong);
  assert.deepEqual(thing("/verify/p/l"), { view: "verify", project: "p", id: "l" });
  assert.deepEqual(thing("/statement?dataset=d"), {
    view: "statement",
    ledger: undefined,
    dataset: "d",
  });
});
test("the page stands below the path of <base>", () => {
  assert.equal(prefixOf("http://127.0.0.1:7070/"), "");
  assert.equal(prefixOf("https://host/dpledger/"), "/dpledger");
  assert.equal(prefixOf("https://host/a/b/?x=/y#z"), "/a/b");
});
test("a cell that a spreadsheet would run is text", () => {
  const row = { a: "=1+1", b: "-2.5", c: -3, d: "@x", e: 'a"b', f: "a,b", g: undefined };
  assert.equal(csvOf([row]), 'a,b,c,d,e,f,g\n\'=1+1,-2.5,-3,\'@x,"a""b","a,b",\n');
});
test("an age counts from the last look at the clock, which may be older than what it is of", () => {
  assert.equal(ageWords(20_000, 10_000), "just now");
  assert.equal(ageWords(0, 59_000), "just now");
  assert.equal(ageWords(0, 61_000), "1 min ago");
  assert.equal(ageWords(180_000, 0), "from a clock ahead of this one");
});
test("a ledger costs more than was said where the whole interval lies above it", () => {
  assert.ok(isAbove({ lower: 1.2, upper: 1.3 }, { lower: 0.9, upper: 1 }));
  assert.ok(!isAbove({ lower: 0.95, upper: 1.3 }, { lower: 0.9, upper: 1 }));
  assert.ok(!isAbove({ upper: 1.3 }, { lower: 0.9, upper: 1 }), "an upper end only");
  assert.ok(!isAbove({ lower: 1.2, upper: "Infinity" }, { upper: "Infinity" }));
  assert.ok(!isAbove({ lower: 1.2 }, undefined), "nothing was said");
});
test("axes begin at 0 and have few round ticks", () => {
  assert.deepEqual(ticksOf(1, 4), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(ticksOf(0, 4), [0, 1]);
  assert.ok(ticksOf(123456, 6).length <= 7);
  // Of what is counted no tick stands between two counts.
  assert.deepEqual(ticksOf(1, 6, true), [0, 1]);
  assert.deepEqual(ticksOf(3, 6, true), [0, 1, 2, 3]);
  assert.deepEqual(ticksOf(13, 6, true), [0, 5, 10]);
  for (let count = 1; count < 300; count++)
    for (const most of [3, 6]) assert.ok(ticksOf(count, most, true).every(Number.isInteger));
});

test("what has no bound is no guarantee, whatever was declared", () => {
  for (const regime of ["FIXED_PLAN", "FILTER", "ODOMETER", undefined]) {
    assert.equal(regimeShort(regime, Infinity), "no guarantee");
    assert.equal(isGuarantee(regime, Infinity), false);
  }
  assert.equal(isGuarantee("FIXED_PLAN", 1), true);
  assert.equal(isGuarantee("ODOMETER", 1), false);
  assert.equal(isGuarantee("AS_PLANNED", 1), false);
});
test("a note's cosigners are whoever signed beside the log, whose own keys may be two", () => {
  const note = (...names: string[]) =>
    ["log.example", "7", "hash", "", ...names.map((name) => `— ${name} AAAA`), ""].join("\n");
  assert.deepEqual(cosigners(note("log.example", "log.example")), []);
  assert.deepEqual(cosigners(note("w/1", "log.example", "w/2", "w/1")), ["w/1", "w/2"]);
});
test("plain words speak of what neighbouring data sets differ in", () => {
  assert.deepEqual(attackWords("ADD_OR_REMOVE_ONE", "patient"), {
    unknown: "whether one given patient was in the data",
    falsely: "who were not in",
    rightly: "who were",
  });
  assert.deepEqual(attackWords("REPLACE_ONE", "patient"), {
    unknown: "which of two values one given patient has",
    falsely: "with the other value",
    rightly: "with the value that they look for",
  });
  assert.deepEqual(attackWords("ZERO_OUT", "patient"), {
    unknown: "whether one given patient contributed or was left blank",
    falsely: "left blank",
    rightly: "who contributed",
  });
  assert.equal(attackWords("OF_LATER", "patient"), undefined);
});

test("numbers are read as people type them, and never as another", () => {
  const read: [string, number | undefined][] = [
    ["0,01", 0.01],
    ["0.01", 0.01],
    [" 1e-5 ", 1e-5],
    ["1,5E-7", 1.5e-7],
    ["10^-6", 1e-6],
    [",5", 0.5],
    ["2.", 2],
    ["1.000,5", undefined],
    ["1,000,000", undefined],
    ["1,000.5", undefined],
    ["-1", undefined],
    ["1e", undefined],
    ["0x1", undefined],
    ["Infinity", undefined],
    ["", undefined],
  ];
  for (const [text, value] of read) {
    const found = typed(text);
    assert.equal(found && Number(found), value, text);
  }
  assert.equal(typedWhole("1 000"), "1000");
  for (const text of ["1,000", "1.000", "1000.5", "-1", "", "1e3"])
    assert.equal(typedWhole(text), undefined, text);
});

test("a filter is completed where the cursor stands", () => {
  const known = (field: string) => (field === "dataset" ? ["clinic", "a b", 'q"'] : []);
  const at = (text: string, cursor = text.length) => completions(text, cursor, known);
  assert.ok(at("").choices.includes("dataset") && at("").choices.includes("NOT"));
  assert.deepEqual(at("da"), { from: 0, to: 2, choices: ["dataset"] });
  assert.deepEqual(at("(NOT epsi"), { from: 5, to: 9, choices: ["epsilon"] });
  assert.deepEqual(at("state").choices, ["=", "!="]);
  assert.deepEqual(at("state = O"), { from: 8, to: 9, choices: ["OPEN"] });
  assert.deepEqual(at("dataset = ").choices, ["clinic", '"a b"', '"q\\""']);
  assert.deepEqual(at('dataset = "a').choices, ['"a b"']);
  assert.deepEqual(at("dataset = A").choices, ['"a b"'], "the quotation mark need not be typed");
  const asked: string[] = [];
  completions('unit = "Us', 10, (...of) => (asked.push(...of), []));
  assert.deepEqual(asked, ["unit", "us"]);
  assert.deepEqual(at("epsilon > 1 ").choices, ["AND", "OR"]);
  assert.deepEqual(at("refused:* a"), { from: 10, to: 11, choices: ["AND"] });
  assert.deepEqual(at("state = OPEN AND da = 1", 19), { from: 17, to: 19, choices: ["dataset"] });
  assert.deepEqual(at("nonsense ").choices, []);
});
test("the server's own ledgers are left out of a filter, which stays what it is", () => {
  const own =
    "project = access-record OR project = attention OR project = recomputations OR " +
    "project = statements";
  assert.deepEqual(apart("", false), { filter: `NOT (${own})`, skipped: 0 });
  assert.equal(apart("a = 1 OR b = 2", false).filter, `(a = 1 OR b = 2) AND NOT (${own})`);
  assert.equal(apart('a = ")"', true).filter, `(a = ")") AND (${own})`);
  // Parentheses that are no pair would pair with those around.
  for (const text of ["a = 1) OR (b = 2", "(a = 1", "a = 1)"])
    assert.deepEqual(apart(text, false), { filter: text, skipped: 0 });
});
test("blocks are read as they are written", () => {
  assert.deepEqual(readBlocks(""), []);
  const block = (first: string, last = first) => ({ first, last });
  assert.deepEqual(readBlocks("1-12, 14 – 20,021"), [
    block("1", "12"),
    block("14", "20"),
    block("21"),
  ]);
  for (const wrong of ["0", "3-2", "1,1", "2,1", "1-", "a", "1;2", "100000", ",", "1,"])
    assert.equal(readBlocks(wrong), undefined, wrong);
});
test("the wrong part of a filter is the one at the server's byte", () => {
  const fault = faultOf('dataset = "é" AND x = 1', "filter: byte 21: must be a field", 1)!;
  assert.deepEqual(fault, {
    before: 'dataset = "é" AND ',
    wrong: "x",
    after: " = 1",
    rule: "must be a field",
  });
  assert.equal(faultOf("a =", "filter: byte 5: must be a value")!.wrong, "");
  assert.equal(faultOf("a", "the server cannot be reached"), undefined);
});
