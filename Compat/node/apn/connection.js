"use strict";

const EventEmitter = require("events");
const util = require("util");
const ferry = require("./ferry");
const codeOf = require("./code");
const Device = require("./device");
const Errors = require("./errors");
const server = require("./server");

const TOKEN_LIMIT = 100; // bytes, of any protocol
const NO_TIME_LIMIT = 127; // seconds: the system itself gives a connection up then
const NO_RETRY_LIMIT = 1000000;
const QUEUE_LIMIT = 100000; // beyond this pushNotification() waits
const EVENTS = 1000; // older ones may be lost, outcomes never are
const PER_TURN = 1024; // outcomes, before others have the event loop
const CLOSE = 10; // seconds
const AT_EXIT = 10; // seconds

const DEFAULTS = { port: 2195, voip: false, cacheLength: 1000, autoAdjustCache: true,
  maxConnections: 1, minConnections: 1, connectTimeout: 10000, connectionTimeout: 3600000, connectionRetryLimit: 10,
  buffersNotifications: true, fastMode: false, disableNagle: false, disableEPIPEFix: false };

/** A connection to APNs. It begins with the first push. */
function Connection(options) {
  if (!(this instanceof Connection)) return new Connection(options);
  EventEmitter.call(this);
  this.options = server.merged(options, DEFAULTS);
  for (const name of ["cacheLength", "maxConnections", "minConnections"]) {
    this.options[name] = Math.max(this.options[name], 1);
  }
  if (this.options.gateway) this.options.address = this.options.gateway;
  server.chooseAddress(this.options, "gateway");
  const state = {
    provider: null,
    nextTag: 0,
    pushed: new Map(), // by tag, until the outcome: { notification, device }
    presumed: new Map(), // the newest that were presumed accepted, in case an error comes later
    news: [], // events and outcomes that were read and not told yet
    isTelling: false,
    isCompletionDue: false,
    owed: 0, // errors that were found here and not told yet
    sending: 0, // calls that are in the middle of their devices
    isShuttingDown: false,
    isClosing: false,
    fatal: null, // what makes an `error`, to tell when its notifications were told
    isFatalTold: false,
    unheard: 0, // errors that nobody listens to
  };
  Object.defineProperty(this, "_state", { value: state });
}

util.inherits(Connection, EventEmitter);

// MARK: Pushing

/** Sends a notification to a device, or to each device of an array: Device, Buffer or hexadecimal string. */
Connection.prototype.pushNotification = function (notification, recipient) {
  const recipients = Array.isArray(recipient) ? recipient : [recipient];
  if (this._state.isShuttingDown) {
    for (const each of recipients) this._fail(Errors.connectionTerminated, notification, toDevice(each) || each, null);
    this._state.isCompletionDue = true;
    setImmediate(() => this._tellRest());
    return false;
  }
  if (!notification || typeof notification.compile !== "function") throw new TypeError("This is no Notification.");
  const limit = this.options.voip ? 4096 : 2048;
  const isTooLong = notification.length() > limit;
  const devices = [];
  for (const each of recipients) {
    const device = toDevice(each);
    const code = isTooLong ? Errors.invalidPayloadSize
      : device === undefined ? Errors.missingDeviceToken
      : device === null ? Errors.invalidToken
      : device.token.length > TOKEN_LIMIT ? Errors.invalidTokenSize : 0;
    if (code === 0) devices.push(device);
    else this._failSoon(code, notification, device || each);
  }
  if (devices.length > 0) this._send(notification, devices);
  return undefined;
};

/** Sends a notification to its own device. Deprecated in node-apn. */
Connection.prototype.sendNotification = function (notification) {
  return this.pushNotification(notification, notification.device);
};

/** undefined: there is none; null: it is not one */
function toDevice(recipient) {
  if (recipient === undefined || recipient instanceof Device) return recipient;
  try {
    return new Device(recipient);
  } catch (error) {
    return null;
  }
}

Connection.prototype._send = function (notification, devices) {
  const state = this._state;
  const content = { payload: notification.compile(), expiration: expiration(notification.expiry),
    priority: notification.priority & 255 };
  try {
    if (!state.provider) this._open();
  } catch (error) {
    for (const device of devices) this._failSoon(Errors.moduleInitialisationFailed, notification, device);
    state.fatal = { code: Errors.moduleInitialisationFailed, error };
    return undefined;
  }
  state.isCompletionDue = true;
  state.sending++;
  try {
    for (let start = 0, end = 0; start < devices.length; start = end) {
      while (end < devices.length && devices[end].token.length === devices[start].token.length) end++;
      this._submit(notification, content, devices.slice(start, end));
    }
  } finally {
    state.sending--;
  }
  return undefined;
};

Connection.prototype._submit = function (notification, content, devices) {
  const state = this._state;
  const tokens = devices.map((device) => device.token);
  for (let i = 0; i < tokens.length;) {
    const taken = state.provider.submitTo(content, tokens, state.nextTag, i);
    for (const end = i + taken; i < end; i++) state.pushed.set(state.nextTag++, { notification, device: devices[i] });
    // Without room this waits, as a socket in C would. What makes room is told meanwhile, and a listener may take it.
    if (taken === 0 && !this._turn()) state.provider.waitSync(1);
  }
};

/** The expiration for APNs. Programs write 0, or a time that is no date, when they mean none: APNs then tries once. */
function expiration(expiry) {
  const seconds = Math.floor(Number(expiry));
  if (seconds >= 4294967296) throw new RangeError("The expiry is not in seconds since 1970. Are these milliseconds?");
  return seconds > Date.now() / 1000 && seconds < 2147483648 ? seconds : 0;
}

Connection.prototype._open = function () {
  const { connectTimeout, connectionRetryLimit, maxConnections, buffersNotifications } = this.options;
  const provider = server.withServer(this.options, (options) => new ferry.Provider(Object.assign(options, {
    connectTimeout: connectTimeout > 0 ? connectTimeout / 1000 : NO_TIME_LIMIT,
    connectionRetryLimit: connectionRetryLimit > 0 ? connectionRetryLimit : NO_RETRY_LIMIT,
    maxConnections,
    outcomes: "all", // those of FERRY_CONFIG do not win over these
    queueLimit: QUEUE_LIMIT,
    events: EVENTS,
    atExit: AT_EXIT,
    buffersNotifications: buffersNotifications === false ? false : undefined,
  })));
  this._state.provider = provider;
  // The last events are told when the connection is closed: then a listener may push again.
  provider.onReady(() => (this._state.isClosing ? this._read() : this._turn()));
};

// MARK: News from the library

/** Reads and tells. Returns whether there was anything. */
Connection.prototype._turn = function () {
  const isAny = this._read();
  this._tell();
  return isAny;
};

Connection.prototype._read = function () {
  const { provider, news } = this._state;
  const before = news.length;
  let outcomes = provider.read(PER_TURN);
  for (const event of provider.events(PER_TURN)) {
    if (event.event === "disconnected") {
      // What a connection brought comes before its end.
      news.push(...outcomes);
      outcomes = [];
    }
    news.push(event);
  }
  news.push(...outcomes);
  return news.length > before;
};

/** Tells what was read. A listener may push, which may read more. */
Connection.prototype._tell = function () {
  const state = this._state;
  if (state.isTelling) return;
  state.isTelling = true;
  for (const news of state.news) {
    attempt(() => (news.event === undefined ? this._tellOutcome(news) : this._tellEvent(news)));
  }
  state.isTelling = false;
  state.news.length = 0;
  attempt(() => this._tellRest());
};

/** Calls listeners. If one throws, the rest is told first. Then the exception is one that nobody catches, as always. */
function attempt(body) {
  try {
    body();
  } catch (error) {
    setImmediate(() => {
      throw error;
    });
  }
}

Connection.prototype._tellEvent = function (event) {
  switch (event.event) {
  case "connected":
  case "disconnected":
    return this.emit(event.event, event.open);
  case "timeout":
    return this.emit("timeout");
  case "cacheTooSmall":
    return this.emit("cacheTooSmall", event.by);
  case "socketError":
  case "error": { // the library goes on after it, and its outcomes say what was not delivered
    const error = new Error(event.text.replace(/^error: /, ""));
    this._callBack(error);
    return this.emit("socketError", error);
  }
  case "contradicted":
    return this._tellContradiction(event);
  default:
    return undefined;
  }
};

Connection.prototype._tellOutcome = function (outcome) {
  const state = this._state;
  const entry = state.pushed.get(outcome.tag);
  if (!entry) return;
  state.pushed.delete(outcome.tag);
  const { notification, device } = entry;
  const wasWritten = outcome.outcome === "accepted" || outcome.outcome === "uncertain"
    || outcome.outcome === "rejected" && outcome.detail !== "ferry";
  if (wasWritten) this.emit("transmitted", notification, device);
  if (outcome.outcome === "accepted") {
    state.isFatalTold = false;
    if (outcome.detail === "presumed") this._remember(outcome.tag, entry);
    return;
  }
  const code = codeOf(outcome);
  if (code === 0) return;
  if (code === Errors.moduleInitialisationFailed || code === Errors.connectionRetryLimitExceeded) {
    state.fatal = { code, reason: outcome.reason };
  }
  this._fail(code, notification, device, outcome);
};

/** Keeps as many as node-apn's cache did. */
Connection.prototype._remember = function (tag, entry) {
  const { presumed } = this._state;
  presumed.set(tag, entry);
  if (presumed.size > this.options.cacheLength) presumed.delete(presumed.keys().next().value);
};

/** An error came for notifications that had been presumed accepted. Those that are not known any more are null. */
Connection.prototype._tellContradiction = function (event) {
  const { presumed } = this._state;
  const code = event.reason === undefined ? Errors.retryLimitExceeded : event.status || Errors.none;
  for (let i = 0; i < event.count; i++) {
    const entry = event.count === event.upTo && presumed.get(event.tags[i]) || { notification: null };
    this._fail(code, entry.notification, entry.device, event);
  }
};

/** What follows when everything that was read was told. */
Connection.prototype._tellRest = function () {
  const state = this._state;
  const { fatal } = state;
  if (fatal && state.owed === 0) {
    state.fatal = null;
    attempt(() => this._tellFatal(fatal));
    setImmediate(() => this._tellRest()); // after `error`
    return;
  }
  if (!this._isSettled()) return;
  this._closeIfDue();
  if (!state.isCompletionDue) return;
  state.isCompletionDue = false;
  this.emit("completed");
};

/** Whether everything that was pushed has its outcome, and was told. */
Connection.prototype._isSettled = function () {
  const { pushed, sending, owed } = this._state;
  return pushed.size + sending + owed === 0;
};

Connection.prototype._tellFatal = function ({ code, reason, error }) {
  const { provider } = this._state;
  const lastError = provider ? provider.report().lastError : "";
  error = error || new Error(lastError || reason || "There was no connection in time.");
  // Without a connection the program may go on, as the library does: it tries again with the next push.
  if (code === Errors.moduleInitialisationFailed || this.listenerCount("error") > 0) this._failForGood(error);
};

// MARK: Errors

/** Tells an error that was found here, when the call that caused it has returned. */
Connection.prototype._failSoon = function (code, notification, device) {
  const state = this._state;
  state.isCompletionDue = true;
  state.owed++;
  setImmediate(() => {
    state.owed--;
    attempt(() => this._fail(code, notification, device, null));
    if (state.owed === 0) this._tellRest();
  });
};

/** Tells an error of one notification: what Ferry found, to the callback first; what the gateway said, to the event. */
Connection.prototype._fail = function (code, notification, device, outcome) {
  const isOwn = outcome === null || code > Errors.none;
  if (isOwn && code !== Errors.connectionTerminated) this._callBack(code, notification, device);
  this.emit("transmissionError", code, notification, device, outcome);
  if (!isOwn) this._callBack(code, notification, device);
  const isHeard = this.listenerCount("transmissionError") > 0 || this.options.errorCallback
    || notification && notification.errorCallback;
  if (code < Errors.none || isHeard || this._state.unheard++ > 0) return;
  setImmediate(() => {
    const count = this._state.unheard;
    process.emitWarning(`${count} notifications were not delivered, and nobody listens to transmissionError.`);
    this._state.unheard = 0;
  });
};

Connection.prototype._callBack = function (error, notification, device) {
  if (notification && typeof notification.errorCallback === "function") notification.errorCallback(error, device);
  else if (typeof this.options.errorCallback === "function") this.options.errorCallback(error, notification, device);
};

/** Emits `error`, once until something is accepted. Without a listener it ends the program, as every `error` does. */
Connection.prototype._failForGood = function (error) {
  if (this._state.isFatalTold) return;
  this._state.isFatalTold = true;
  this._callBack(error);
  process.nextTick(() => this.emit("error", error));
};

// MARK: The end

/** Closes the connection when everything that was pushed has its outcome. Until it is closed, pushes are refused (515);
 * then a push opens a new one. */
Connection.prototype.shutdown = function () {
  this._state.isShuttingDown = true;
  setImmediate(() => this._closeIfDue());
};

Connection.prototype._closeIfDue = function () {
  const state = this._state;
  if (!state.isShuttingDown || state.isClosing || !this._isSettled()) return;
  state.isClosing = true;
  const closed = () => setImmediate(() => {
    state.isShuttingDown = state.isClosing = false;
    if (!state.provider) return;
    this._read();
    state.provider.free();
    state.provider = null;
    this._tell();
  });
  if (state.provider) state.provider.close(CLOSE).then(closed, closed);
  else closed();
};

/** Sets how many presumed notifications are remembered, at least 1. None is lost because of it. */
Connection.prototype.setCacheLength = function (length) {
  this.options.cacheLength = Math.max(Math.floor(length) || 1, 1);
};

for (const name of ["sockets", "notificationBuffer"]) {
  Object.defineProperty(Connection.prototype, name, {
    get() {
      throw new Error(`connection.${name} is not kept: libferry has queue and sockets. Listen to the events instead.`);
    },
  });
}

module.exports = Connection;
