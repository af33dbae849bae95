// One instance of accountant.wasm, without a file, a network or the page around it. An instance
// whose memory or stack ran out is at its end (Stopped): the next question needs another one.

// What the accountant says of a question that it does not answer: one of gRPC's codes, a message
// that names the field and the rule, and a reason for programs.
export class AccountingError extends Error {
  constructor({ code = 2, message = "", details = [] }) {
    super(message);
    this.name = "AccountingError";
    this.code = code;
    this.reason = details.find((one) => one.reason)?.reason ?? "";
  }
}

// The module came to no answer: its memory or its stack is full.
export class Stopped extends Error {
  constructor(why) {
    super(`the accountant stopped: ${why}`);
    this.name = "Stopped";
  }
}

const JSON_TEXT = 1; // DPLEDGER_ACCOUNTING_JSON
const text = new TextDecoder();
const bytesOf = (words) => new TextEncoder().encode(words);

export class Instance {
  #module;

  // `module`: a compiled WebAssembly.Module.
  static async start(module) {
    const instance = new Instance();
    const { exports } = await WebAssembly.instantiate(module, instance.#imports());
    instance.#module = exports;
    instance.#guarded(() => exports._initialize());
    return instance;
  }

  // A question of AccountingService about events: its request as proto JSON has it, to the response.
  call(method, question) {
    return this.#asked(JSON.stringify(question), method, (at, size, name, answer) => {
      const { dpledger_accounting_call: call } = this.#module;
      return call(JSON_TEXT, name, at, size, answer, answer + 4);
    });
  }

  // The next entries of the one ledger that this instance reads, each behind its length in 16 bits.
  add(tile) {
    this.#add(tile, this.#module.dpledger_ledger_add);
  }

  // Of the entries so far, whose tree has this root: `question` is a ComputeEpsilonRequest without
  // a subject. The accountant gives up after 30 seconds.
  epsilon({ name, root, question }) {
    return this.#asked(JSON.stringify(question), name, (at, size, ledger, answer) => {
      const hash = this.#put(root);
      const { dpledger_ledger_epsilon: epsilon } = this.#module;
      const code = epsilon(ledger, hash, at, size, answer, answer + 4);
      this.#module.free(hash);
      return code;
    });
  }

  // Whether a budget was kept: the record of the budget or of a run under it, whose entries follow,
  // by the origins of its checkpoint and of its registry; and the answer about them all.
  beginHeld(origin, registry) {
    this.#guarded(() => {
      const places = [origin, registry].map((name) => this.#put(bytesOf(`${name}\0`)));
      this.#module.dpledger_budget_begin(...places);
      for (const place of places) this.#module.free(place);
    });
  }
  addHeld(tile) {
    this.#add(tile, this.#module.dpledger_budget_add);
  }
  verifyBudget() {
    return this.#asked("", "", (at, size, name, answer) =>
      this.#module.dpledger_budget_verify(answer, answer + 4),
    );
  }

  #add(tile, taken) {
    this.#guarded(() => {
      const at = this.#put(tile);
      const code = taken(at, tile.length);
      this.#module.free(at);
      if (code) throw new AccountingError({ code, message: "the entries are cut off" });
    });
  }
  #asked(question, name, ask) {
    return this.#guarded(() => {
      const asked = bytesOf(question);
      const places = [
        this.#put(asked),
        this.#put(bytesOf(`${name}\0`)),
        this.#put(new Uint8Array(8)),
      ];
      const code = ask(places[0], asked.length, places[1], places[2]);
      const [at, size] = new Uint32Array(this.#module.memory.buffer, places[2], 2);
      const answer = text.decode(new Uint8Array(this.#module.memory.buffer, at, size));
      for (const place of places) this.#module.free(place);
      this.#module.dpledger_accounting_free(at);
      if (code)
        throw new AccountingError(size ? JSON.parse(answer) : { code, message: "out of memory" });
      return JSON.parse(answer || "{}");
    });
  }
  #put(bytes) {
    const at = this.#module.malloc(bytes.length || 1);
    if (!at) throw new Stopped("out of memory");
    new Uint8Array(this.#module.memory.buffer).set(bytes, at);
    return at;
  }
  #guarded(use) {
    try {
      return use();
    } catch (error) {
      if (error instanceof AccountingError || error instanceof Stopped) throw error;
      throw new Stopped(error.message);
    }
  }

  // The little of a system that the module refers to: a clock. Its text is for nobody.
  #imports() {
    const none = () => 52; // there is no such call
    const written = (file, parts, count, at) => {
      const view = new DataView(this.#module.memory.buffer);
      let size = 0;
      for (let i = 0; i < count; i++) size += view.getUint32(parts + 8 * i + 4, true);
      view.setUint32(at, size, true);
      return 0;
    };
    const now = (clock, precision, at) => {
      const nanoseconds = BigInt(Date.now()) * 1000000n;
      new DataView(this.#module.memory.buffer).setBigUint64(at, nanoseconds, true);
      return 0;
    };
    return {
      wasi_snapshot_preview1: {
        clock_time_get: now,
        environ_get: none,
        environ_sizes_get: none,
        fd_close: none,
        fd_read: none,
        fd_seek: none,
        fd_write: written,
        proc_exit: (code) => {
          throw new Stopped(`exit ${code}`);
        },
      },
    };
  }
}
