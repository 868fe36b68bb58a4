"use strict";

// Notifications to APNs through libferry. README.md has a first program, and Docs/begin/c.md the options.

const fs = require("fs");
const path = require("path");
const { EINTR, ECLOSED, ETIME, READY, PUSH_TYPES, OUTCOMES, ACCEPTANCES, ORIGINS, CAUSES, ERRORS, OUTCOME_APNS_ID,
  RECORD_EXPIRATION, RECORD_APNS_ID } = require("./numbers");
const DETAILS = { accepted: ACCEPTANCES, rejected: ORIGINS, undelivered: CAUSES, uncertain: CAUSES };
const COUNTS = ["taken", "unsettled", "unread", "confirmed", "presumed", "rejected", "expired", "undelivered",
  "uncertain", "contradicted", "resent"];

// The addon's calls that wait on a thread of Node's pool, and its ways to watch a handle.
const CLOSE = 0, DRAIN = 1, FLUSH = 2, FEEDBACK_READ = 3;
const WATCH = 1, HOLD = 2;

const HEADER = 24;
const OUTCOME_SIZE = 40;
const MOST = 4096; // of one call
const LONGEST_RECORD = HEADER + 100 + 6 * 65535 + 6 * 255 + 6 * 255 + 16; // before it is known how long its texts are
const STEP = 100; // ms of a call that waits: the end of the process waits for it
const AT_EXIT = 10; // seconds, if the options have none: a provider that is collected must not lose anything

/** The library: the file of FERRY_LIBRARY, else the one inside this package, else the system's. */
function library() {
  const own = path.join(__dirname, "libferry.so.0");
  return process.env.FERRY_LIBRARY || (fs.existsSync(own) ? own : "libferry.so.0");
}

function load() {
  if (process.platform !== "linux") throw new Error(`ferry needs Linux with glibc. This is ${process.platform}.`);
  if (!(Number(process.versions.napi) >= 8)) {
    throw new Error(`ferry needs Node 12.22, 14.17, 16 or later. This is ${process.version}.`);
  }
  try {
    const addon = require("./build/Release/ferry.node");
    const fault = addon.load(library());
    if (fault === undefined) return addon;
    throw new Error(`libferry cannot be used: ${fault}. Install it, or set FERRY_LIBRARY to its libferry.so.0.`);
  } catch (error) {
    if (!process.report.getReport().header.glibcVersionRuntime) {
      throw new Error("ferry needs Linux with glibc. Systems with musl, such as Alpine, are not served.");
    }
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    throw new Error("The addon of ferry is not built: run Compat/node/build, or node-gyp rebuild in its folder.");
  }
}

const native = load();

function failure(code, message = native.text(code, false)) {
  return Object.assign(new Error(message), { code: ERRORS[-code] });
}

function checked(result) {
  if (result < 0) throw failure(result);
  return result;
}

// MARK: Records

/** The records of one call. */
class Records {
  constructor() {
    this.end = 0;
    this.bytes = Buffer.alloc(0);
    this.reserve(1 << 21);
  }

  reserve(size) {
    if (this.bytes.length - this.end >= size) return;
    const bytes = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.end + size));
    this.bytes.copy(bytes, 0, 0, this.end);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }

  append(notification, token, tag) {
    // First, because an object's toJSON is the caller's code.
    let payload = notification.payload;
    if (typeof payload === "object" && !(payload instanceof Uint8Array)) payload = JSON.stringify(payload);
    const { topic, collapseId, apnsId, expiration = null, priority = 0, pushType = "" } = notification;
    this.reserve(LONGEST_RECORD);
    const start = this.end;
    let at = start + HEADER;
    const tokenLength = this.put(token, at, 1, 100, "hex", "token");
    at += tokenLength;
    const payloadLength = this.put(payload, at, 0, 65535, "utf8", "payload");
    at += payloadLength;
    const topicLength = topic ? this.put(topic, at, 0, 255, "utf8", "topic") : 0;
    at += topicLength;
    const collapseLength = collapseId ? this.put(collapseId, at, 0, 255, "utf8", "collapseId") : 0;
    at += collapseLength;
    if (apnsId) at += this.put(String(apnsId).replace(/-/g, ""), at, 16, 16, "hex", "apnsId");
    if (expiration !== null && expiration >>> 0 !== expiration) {
      throw new RangeError("The expiration is not in whole seconds since 1970, below 2^32.");
    }
    if ((priority & 255) !== priority) throw new RangeError("The priority is not 1, 5 or 10.");
    const type = PUSH_TYPES.indexOf(pushType);
    if (type < 0) throw new RangeError(`The pushType is not one of ${PUSH_TYPES.slice(1).join(", ")}.`);
    if (!Number.isSafeInteger(tag) || tag < 0) throw new RangeError("The tag is no whole number from 0 to 2^53 - 1.");
    const flags = (expiration === null ? 0 : RECORD_EXPIRATION) | (apnsId ? RECORD_APNS_ID : 0);
    const { view } = this;
    view.setUint32(start, at - start, true);
    view.setUint32(start + 4, tag % 4294967296, true);
    view.setUint32(start + 8, tag / 4294967296, true);
    view.setUint32(start + 12, expiration, true);
    view.setUint32(start + 16, flags | priority << 8 | type << 16 | tokenLength << 24, true);
    view.setUint32(start + 20, payloadLength | topicLength << 16 | collapseLength << 24, true);
    this.end = at;
  }

  /** Writes a Buffer, or a string in an encoding. Returns the number of its bytes. */
  put(value, at, least, most, encoding, name) {
    let length = -1;
    if (value instanceof Uint8Array && value.length <= most) {
      this.bytes.set(value, at);
      length = value.length;
    } else if (typeof value === "string" && value.length <= 2 * most) {
      length = this.bytes.write(value, at, encoding);
      if (encoding === "hex" && length * 2 !== value.length) length = -1;
    }
    if (length >= least && length <= most) return length;
    throw new RangeError(`The ${name} is not a Buffer or a string (${encoding}) of ${least} to ${most} bytes.`);
  }
}

let spare = null; // used again, but not by a call inside of a call

// MARK: Outcomes

/** What became of one notification: the outcome of ferry.h, with words for its numbers. */
class Outcome {
  #bytes;
  #at;

  constructor(bytes, view, at) {
    const outcome = view.getUint8(at + 8);
    const time = view.getUint32(at + 16, true) + view.getInt32(at + 20, true) * 4294967296;
    this.tag = view.getUint32(at, true) + view.getUint32(at + 4, true) * 4294967296;
    this.outcome = OUTCOMES[outcome] || "";
    this.detail = (DETAILS[this.outcome] || [])[view.getUint8(at + 9)] || "";
    this.status = view.getUint16(at + 10, true);
    const reason = view.getUint16(at + 12, true);
    this.reason = reason === 0 ? "" : native.text(reason, true);
    this.legacy = view.getUint8(at + 14);
    this.timestamp = time === 0 ? null : time; // when the device was gone, in milliseconds since 1970
    this.#bytes = bytes;
    this.#at = at;
  }

  /** The name of the notification at APNs, or null. */
  get apnsId() {
    if (!(this.#bytes[this.#at + 15] & OUTCOME_APNS_ID)) return null;
    const id = this.#bytes.toString("hex", this.#at + 24, this.#at + 40);
    return id.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  /** The bytes of an outcome. */
  static bytes(outcome) {
    return outcome.#bytes.subarray(outcome.#at, outcome.#at + OUTCOME_SIZE);
  }
}

// MARK: Providers

const outcomes = Buffer.allocUnsafeSlow(OUTCOME_SIZE * MOST);
const counts = Buffer.alloc(8 * COUNTS.length);
let text = Buffer.allocUnsafeSlow(1 << 16);

/** The text that `copy` writes into a buffer, however long it is. */
function longText(copy) {
  let length;
  while ((length = checked(copy(text))) > text.length) text = Buffer.allocUnsafeSlow(length * 2);
  return text.toString("utf8", 0, length);
}

function json(options) {
  if (typeof options !== "object" || options === null) throw new TypeError("The options are not an object.");
  return Buffer.from(JSON.stringify(options));
}

const milliseconds = (seconds) => Math.min(Math.max(Math.ceil(seconds * 1000), 0), 0x7fffffff) || 0;

class Provider {
  /** Opens a provider with the options of Docs/begin/c.md. A wrong one throws the library's sentence. */
  constructor(options) {
    this._waiters = new Set();
    this._listener = null;
    this._isClosing = false;
    native.open(this, json(Object.assign({ atExit: AT_EXIT }, options)), false);
  }

  /** Submits notifications from the index `start` on, as many as there is room for, and at most 4096. Returns how many.
   *
   * Each is { token, payload, tag } and perhaps topic, collapseId, apnsId, pushType, priority, expiration. If one of
   * them cannot be packed, this throws, and takes none. */
  submit(notifications, start = 0) {
    return this._submit((records) => {
      const end = Math.min(notifications.length, start + MOST);
      for (let i = start; i < end; i++) records.append(notifications[i], notifications[i].token, notifications[i].tag);
      return native.submit(this, records.bytes, records.end);
    });
  }

  /** Submits one notification to devices from the index `start` on, whose tokens have the same length. Their tags are
   * `firstTag`, `firstTag` + 1 and so on. */
  submitTo(notification, tokens, firstTag, start = 0) {
    const count = Math.min(tokens.length - start, MOST);
    return this._submit((records) => {
      if (!(count > 0)) return 0;
      records.append(notification, tokens[start], firstTag);
      const length = records.end;
      const one = records.bytes[19];
      records.reserve(Math.max(one, 100) * count);
      for (let i = 0; i < count; i++) records.put(tokens[start + i], length + i * one, one, one, "hex", "token");
      return native.submitTo(this, records.bytes, length, one, count, firstTag);
    });
  }

  _submit(pack) {
    if (this._isClosing) throw failure(ECLOSED);
    const records = spare || new Records();
    spare = null;
    records.end = 0;
    try {
      const taken = checked(pack(records));
      if (taken > 0 && (this._listener || this._waiters.size > 0)) native.watch(this, HOLD);
      return taken;
    } finally {
      spare = records;
    }
  }

  /** Takes outcomes that have come, at most `most`, and at most 4096. */
  read(most = MOST) {
    const count = checked(native.read(this, outcomes.subarray(0, Math.min(most, MOST) * OUTCOME_SIZE), OUTCOME_SIZE));
    const bytes = Buffer.from(outcomes.subarray(0, count * OUTCOME_SIZE));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const result = [];
    for (let i = 0; i < count; i++) result.push(new Outcome(bytes, view, i * OUTCOME_SIZE));
    return result;
  }

  /** Like read(), as pairs of an outcome and the tags of all that differ from it in nothing else. Much faster. */
  readRuns(most = MOST) {
    const runs = [];
    for (let count; (count = checked(native.readRun(this, outcomes, OUTCOME_SIZE, Math.min(most, MOST)))) > 0; most -= count) {
      const view = new DataView(outcomes.buffer), tags = [];
      for (let i = 0, at = OUTCOME_SIZE; i < count; i++, at += 8)
        tags.push(view.getUint32(at, true) + view.getUint32(at + 4, true) * 4294967296);
      runs.push([new Outcome(Buffer.from(outcomes.subarray(0, OUTCOME_SIZE)), view, 0), tags]);
    }
    return runs;
  }

  /** An outcome in words: the members of a line of `ferry push --events`, and a `sentence`. Call it soon: where the outcome
   * is not certain or not a delivery, the sentence is about the present trouble. */
  words(outcome) {
    const bytes = outcome instanceof Outcome ? Outcome.bytes(outcome) : outcome;
    return JSON.parse(longText((buffer) => native.outcomeJson(this, bytes, buffer)));
  }

  /** Takes events that have come, at most `most`. Without the option `events` there are none. */
  events(most = 1000) {
    const result = [];
    for (let event; result.length < most && (event = longText((buffer) => native.readEvent(this, buffer)));) {
      result.push(JSON.parse(event));
    }
    return result;
  }

  /** Resolves with bits of READY when something is ready, and with 0 after `seconds`. */
  wait(seconds = Infinity) {
    return new Promise((resolve, reject) => {
      const bits = checked(native.wait(this, 0));
      if (bits !== 0 || seconds <= 0) return resolve(bits);
      const waiter = { resolve, reject };
      waiter.timer = setTimeout(() => this._waiters.delete(waiter) && resolve(0), milliseconds(seconds));
      if (seconds === Infinity) waiter.timer.unref();
      this._waiters.add(waiter);
      return this._watch();
    });
  }

  /** Like wait(), but the event loop stands still meanwhile. */
  waitSync(seconds) {
    const end = Date.now() + milliseconds(seconds);
    for (;;) {
      const left = Math.max(end - Date.now(), 0);
      const bits = native.wait(this, Math.min(left, STEP));
      if (bits > 0 || bits !== EINTR && checked(bits) === 0 && left === 0) return bits;
    }
  }

  /** Has `listener` called with bits of READY whenever something is ready. It takes what there is. The process goes on
   * until everything has its outcome and was read. */
  onReady(listener) {
    this._listener = listener;
    this._watch();
  }

  _watch() {
    const { unsettled, unread } = this.counts();
    native.watch(this, unsettled + unread > 0 ? HOLD : WATCH);
  }

  // The addon calls this once after each native.watch().
  _ready() {
    const bits = native.wait(this, 0);
    if (bits < 0) return;
    // Another callback may have taken what there was.
    if (bits !== 0) this._answer("resolve", bits);
    else if (this._waiters.size > 0) this._watch();
    if (!this._listener) return;
    try {
      this._listener(bits);
    } finally {
      const left = native.wait(this, 0);
      if (left === 0) this._watch();
      else if (left & (READY.OUTCOMES | READY.EVENT)) setImmediate(() => this._ready());
      // Room that nobody uses would be told all the time.
      else if (left > 0) setTimeout(() => this._ready(), 20);
    }
  }

  _answer(how, value) {
    for (const waiter of this._waiters) {
      clearTimeout(waiter.timer);
      waiter[how](value);
    }
    this._waiters.clear();
  }

  /** Resolves with 0 when everything was written or has its outcome, and with 1 after `seconds`. */
  flush(seconds) { return this._repeat(FLUSH, seconds); }

  /** Resolves with 0 when everything has its outcome, and after `seconds` with the number of those without one. */
  drain(seconds) { return this._repeat(DRAIN, seconds); }

  async _repeat(call, seconds) {
    const end = Date.now() + milliseconds(seconds);
    for (;;) {
      const left = Math.max(end - Date.now(), 0);
      const result = await native.call(this, call, Math.min(left, STEP));
      if (result !== EINTR && (checked(result) === 0 || left === 0)) return result;
    }
  }

  counts() {
    checked(native.counts(this, counts));
    const result = {};
    COUNTS.forEach((name, i) => {
      result[name] = counts.readUInt32LE(8 * i) + counts.readUInt32LE(8 * i + 4) * 4294967296;
    });
    return result;
  }

  report() {
    return JSON.parse(longText((buffer) => native.report(this, buffer)));
  }

  /** Changes what may change: { share: 10 }. */
  set(options) { checked(native.set(this, json(options))); }

  /** A descriptor for poll(2): it is readable while something is ready. */
  get fd() { return checked(native.fd(this)); }

  /** Takes nothing more, sends what was taken for up to `seconds`, and closes the connections. Outcomes stay. */
  async close(seconds = 10) {
    const end = Date.now() + milliseconds(seconds);
    this._isClosing = true;
    await this.drain(seconds);
    checked(await native.call(this, CLOSE, Math.max(end - Date.now(), 0)));
  }

  /** Gives the provider back. What close() did not send goes out unseen, for as long as the option `atExit` says. */
  free() {
    native.free(this);
    this._answer("reject", failure(-1));
  }
}

// MARK: Feedback

/** A list of devices that are gone. */
class Feedback {
  constructor(options) {
    native.open(this, json(options), true);
  }

  /** Resolves with the next entries, [{ time, token }], and with null at the end. Rejects if the list was cut short. */
  async read() {
    for (;;) {
      const result = await native.call(this, FEEDBACK_READ, STEP);
      if (result === 0) return null;
      if (typeof result !== "number") return Array.from(entries(result));
      if (result === EINTR || result === ETIME) continue;
      throw failure(result, JSON.parse(longText((buffer) => native.report(this, buffer))).lastError);
    }
  }

  free() {
    native.free(this);
  }
}

function* entries(bytes) {
  for (let at = 0, end; at < bytes.length; at = end) {
    end = at + 6 + bytes.readUInt16BE(at + 4);
    yield { time: bytes.readUInt32BE(at), token: bytes.subarray(at + 6, end) };
  }
}

Object.assign(exports, { Provider, Feedback, READY, memory: native.memory, version: native.version() });
Object.assign(exports, require("./push"));
