"use strict";

// push(): one call, from device tokens to answers.

const ferry = require("./index");
const { REJECTED, ORIGIN_FERRY, UNDELIVERED, CAUSE_DEADLINE, ENVIRONMENT } = require("./numbers");

const DEADLINE = 30; // seconds after its submission in which a notification may still be written, unless the options say so
const LAST = 15; // seconds beyond the deadline that the last answers may take
const FIELDS = ["collapseId", "expiration", "priority", "pushType"];
const BAD_DEVICE_TOKEN = 2;
const TRUTHS = { 1: true, true: true, 0: false, false: false };

/** What became of one notification. As a string it is the sentence. */
class Answer {
  constructor(token, words) {
    /** The device token, as it was given. */
    this.token = token;
    /** "accepted", "rejected", "expired", "undelivered" (certainly not delivered) or "uncertain". */
    this.outcome = words.outcome;
    this.accepted = words.outcome === "accepted";
    /** Apple's word such as "BadDeviceToken", or the cause such as "noConnection"; null: none. */
    this.reason = words.reason || null;
    /** Of HTTP/2, or of the binary protocol; null: nobody answered. */
    this.status = words.status || null;
    /** The identifier of the notification at APNs; null: none. */
    this.apnsId = words.apnsId || null;
    /** Since when the device is gone, in milliseconds since 1970; null: it is not. */
    this.timestamp = words.timestamp || null;
    /** All of this in words, with the cause and the cure. */
    this.sentence = words.sentence;
  }

  toString() {
    return this.sentence;
  }
}

/** Sends one payload to a device, or to many. Resolves with the Answer, or with an array of them in the order of the tokens.
 *
 * Tokens are hexadecimal. The payload is an object, or JSON. `options` are those of the provider, as Docs/begin/c.md has them,
 * and collapseId, expiration, priority and pushType of the notification. What is not given comes from the environment:
 * FERRY_P8, FERRY_KEY_ID, FERRY_TEAM_ID, FERRY_TOPIC and so on. Connections stay open for the next call with the same options.
 *
 * Rejects if options or notification cannot be used. Then nothing was sent. A token that cannot be one is an answer. */
async function push(tokens, payload, options = {}) {
  const isOne = !Array.isArray(tokens);
  const list = isOne ? [tokens] : tokens;
  const fields = {};
  const own = completed(options);
  for (const name of FIELDS) {
    if (own[name] !== undefined) fields[name] = own[name];
    delete own[name];
  }
  const deadline = own.deadline === undefined ? DEADLINE : own.deadline;
  // Once, and not for each token.
  const json = typeof payload === "object" && !(payload instanceof Uint8Array) ? JSON.stringify(payload) : payload;
  const provider = open(own);
  try {
    const words = new Map();
    const notifications = [];
    list.forEach((token, tag) => {
      const digits = typeof token === "string" ? token.replace(/[\s<>]/g, "") : "";
      if (/^(?:[0-9a-f]{2}){1,100}$/i.test(digits)) notifications.push({ ...fields, payload: json, token: digits, tag });
      else words.set(tag, made(provider, REJECTED, ORIGIN_FERRY, BAD_DEVICE_TOKEN));
    });
    await settle(provider, notifications, words, list.length, (deadline + LAST) * 1000);
    const late = made(provider, UNDELIVERED, CAUSE_DEADLINE);
    const answers = list.map((token, tag) => new Answer(token, words.get(tag) || late));
    return isOne ? answers[0] : answers;
  } finally {
    provider.free();
  }
}

/** Adds the outcome of each notification in words, by its tag. */
async function settle(provider, notifications, words, count, patience) {
  const read = () => {
    const outcomes = provider.read();
    for (const outcome of outcomes) words.set(outcome.tag, provider.words(outcome));
    return outcomes.length;
  };
  let submitted = 0;
  let end = Date.now() + patience;
  while (words.size < count && Date.now() < end) {
    const taken = submitted < notifications.length ? provider.submit(notifications, submitted) : 0;
    submitted += taken;
    await provider.wait(1);
    if (read() + taken > 0) end = Date.now() + patience;
  }
  await provider.close(0);
  while (read() > 0);
}

function made(provider, outcome, detail, reason = 0) {
  const bytes = Buffer.alloc(40);
  bytes[8] = outcome;
  bytes[9] = detail;
  bytes.writeUInt16LE(reason, 12);
  return provider.words(bytes);
}

function open(options) {
  const key = JSON.stringify(Object.keys(options).sort().map((name) => [name, options[name]]));
  try {
    return new ferry.Provider({ shared: `push ${key}`, ...options });
  } catch (error) {
    // Options that are wrong, or more shared providers than a process may have: only the former throw again.
    return new ferry.Provider(options);
  }
}

/** The options with those that the environment has. */
function completed(given) {
  const options = { ...given };
  for (const group of ENVIRONMENT) {
    if (Object.keys(group).some((name) => options[name] !== undefined)) continue;
    for (const [name, variable] of Object.entries(group)) {
      if (process.env[variable]) options[name] = value(name, process.env[variable]);
    }
  }
  if (options.backend === undefined) options.backend = "http2";
  if (["auto", "binary", "http2"].includes(options.backend) && options.deadline === undefined) options.deadline = DEADLINE;
  return options;
}

function value(name, text) {
  if (name === "port" && /^\d+$/.test(text)) return Number(text);
  const truth = name === "production" ? TRUTHS[text.toLowerCase()] : undefined;
  return truth === undefined ? text : truth;
}

module.exports = { push, Answer };
