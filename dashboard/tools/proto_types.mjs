// Writes TypeScript types of the proto JSON of every message in proto/dpledger/v1, the list of
// methods, and the table by which src/api/decode.ts reads a LedgerEntry's bytes. It reads as much
// of the proto language as these files use and throws at anything else, so that a new construct is
// noticed and not left out.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const SCALARS = {
  string: "string",
  bytes: "string", // base 64
  bool: "boolean",
  double: 'number | "Infinity" | "-Infinity" | "NaN"',
  uint32: "number",
  int32: "number",
  uint64: "string", // 64 bits do not fit a number of JavaScript
  int64: "string",
};
const WELL_KNOWN = { "google.protobuf.Timestamp": "string", "google.protobuf.Duration": "string" };

const MADE = "// Made from proto/dpledger/v1 by tools/proto_types.mjs.";
const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

function tokens(text) {
  const bare = text.replace(/\/\/.*$/gm, "");
  return bare.match(/"[^"]*"|[A-Za-z_][A-Za-z0-9_.]*|-?\d+|[{}()[\];=<>,]/g);
}

export function parse(text, file) {
  const words = tokens(text);
  let at = 0;
  const messages = [];
  const enums = [];
  const services = [];
  const next = () => words[at++];
  const expect = (word) => {
    const got = next();
    if (got !== word) throw new Error(`${file}: ${word} expected, got ${got} (word ${at})`);
  };
  const skipStatement = () => {
    while (next() !== ";");
  };

  const readEnum = (scope) => {
    const name = scope + next();
    const values = [];
    expect("{");
    while (words[at] !== "}") {
      const value = next();
      if (value === "reserved" || value === "option") {
        skipStatement();
        continue;
      }
      expect("=");
      values.push([value, Number(next())]);
      expect(";");
    }
    expect("}");
    enums.push({ name, values });
  };

  const readMessage = (scope) => {
    const name = scope + next();
    const message = { name, scope, fields: [] };
    messages.push(message);
    expect("{");
    const readFields = (oneof) => {
      while (words[at] !== "}") {
        let word = next();
        if (word === ";") continue;
        if (word === "reserved" || word === "option") skipStatement();
        else if (word === "message") readMessage(name);
        else if (word === "enum") readEnum(name);
        else if (word === "oneof") {
          next();
          expect("{");
          readFields(true);
          expect("}");
        } else {
          const repeated = word === "repeated";
          if (repeated || word === "optional") word = next();
          if (word === "map") throw new Error(`${file}: maps are not read`);
          const field = next();
          expect("=");
          message.fields.push({ name: field, type: word, repeated, oneof, number: Number(next()) });
          if (words[at] === "[") while (next() !== "]");
          expect(";");
        }
      }
    };
    readFields(false);
    expect("}");
  };

  const readService = () => {
    const name = next();
    expect("{");
    while (words[at] !== "}") {
      expect("rpc");
      const method = next();
      expect("(");
      if (words[at] === "stream") next();
      const request = next();
      expect(")");
      expect("returns");
      expect("(");
      if (words[at] === "stream") next();
      const response = next();
      expect(")");
      if (next() === "{") while (next() !== "}");
      services.push({ name: `${name}/${method}`, request, response });
    }
    expect("}");
  };

  while (at < words.length) {
    const word = next();
    if (word === "message") readMessage("");
    else if (word === "enum") readEnum("");
    else if (word === "service") readService();
    else if (word === "syntax" || word === "package" || word === "import" || word === "option")
      skipStatement();
    else throw new Error(`${file}: cannot read ${word}`);
  }
  return { messages, enums, methods: services };
}

export function parseFolder(folder) {
  const all = { messages: [], enums: [], methods: [] };
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith(".proto"))
    .sort()) {
    const one = parse(readFileSync(join(folder, file), "utf8"), file);
    for (const kind of Object.keys(all)) all[kind].push(...one[kind]);
  }
  // A nested type is named after the messages around it: Operation.State is OperationState.
  const names = new Set([...all.messages, ...all.enums].map((one) => one.name));
  for (const { name, scope, fields } of all.messages) {
    for (const field of fields) {
      const type = field.type.startsWith("google.") ? field.type : field.type.replaceAll(".", "");
      field.type =
        [name, scope, ""].map((around) => around + type).find((full) => names.has(full)) ?? type;
    }
  }
  return all;
}

export function typesOf({ messages, enums, methods }) {
  const names = new Set([...messages, ...enums].map((one) => one.name));
  const typeOf = (type) => {
    if (SCALARS[type]) return SCALARS[type];
    if (WELL_KNOWN[type]) return WELL_KNOWN[type];
    if (!names.has(type)) throw new Error(`no such type: ${type}`);
    return type;
  };
  const lines = [MADE, ""];
  for (const { name, values } of enums) {
    // A later server may send a number that is not named here.
    lines.push(`export type ${name} = ${values.map(([value]) => `"${value}"`).join(" | ")};`);
  }
  for (const { name, fields } of messages) {
    lines.push(`export interface ${name} {`);
    for (const field of fields) {
      const type = typeOf(field.type);
      lines.push(`  ${camel(field.name)}?: ${field.repeated ? `(${type})[]` : type};`);
    }
    lines.push("}");
  }
  lines.push("export interface Methods {");
  for (const { name, request, response } of methods)
    lines.push(`  "${name}": [${request}, ${response}];`);
  lines.push("}");
  return lines.join("\n") + "\n";
}

// { message: { number: [JSON name, type, repeated] } } of `root` and all that is in it; an enum's
// table is an object of its names by number, under "enum NAME".
export function schemaOf({ messages, enums }, root) {
  const tables = {};
  const visit = (name) => {
    if (tables[name] || SCALARS[name] || WELL_KNOWN[name]) return;
    const found = enums.find((one) => one.name === name);
    if (found) {
      tables[name] = {
        enum: Object.fromEntries(found.values.map(([value, number]) => [number, value])),
      };
      return;
    }
    const message = messages.find((one) => one.name === name);
    tables[name] = {};
    for (const field of message.fields) {
      const type = field.type === "google.protobuf.Timestamp" ? "Timestamp" : field.type;
      tables[name][field.number] = [camel(field.name), type, field.repeated ? 1 : 0];
      visit(field.type);
    }
  };
  visit(root);
  return `${MADE}\nexport const schema = ${JSON.stringify(tables)};\n`;
}
