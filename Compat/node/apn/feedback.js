"use strict";

const EventEmitter = require("events");
const util = require("util");
const ferry = require("./ferry");
const Device = require("./device");
const server = require("./server");

const DEFAULTS = { port: 2196, feedback: false, batchFeedback: true, batchSize: 0,
  errorCallback: false, interval: 3600 };
const LONGEST_TIMER = 0x7fffffff; // ms

/** Reads the list of devices that are gone, at once and then every `interval` seconds. */
function Feedback(options) {
  if (!(this instanceof Feedback)) return new Feedback(options);
  EventEmitter.call(this);
  this.options = server.merged(options, DEFAULTS);
  server.chooseAddress(this.options, "feedback");
  if (typeof this.options.errorCallback === "function") this.on("error", this.options.errorCallback);
  if (typeof this.options.feedback === "function") this.on("feedback", this.options.feedback);
  Object.defineProperty(this, "_state", { value: { isReading: false } });
  this.start();
}

util.inherits(Feedback, EventEmitter);

/** Reads the list now, and from now on every `interval` seconds. */
Feedback.prototype.start = function () {
  this.cancel();
  const { interval } = this.options;
  if (interval > 0) this.interval = setInterval(() => this._read(), Math.min(interval * 1000, LONGEST_TIMER));
  this._read();
};

/** Stops the repetition. A reading that is under way goes on. */
Feedback.prototype.cancel = function () {
  clearInterval(this.interval);
  this.interval = undefined;
};

Feedback.prototype._read = async function () {
  if (this._state.isReading) return;
  this._state.isReading = true;
  // Each event has a turn of its own: a listener that throws does not end the reading.
  const tell = (...event) => setImmediate(() => this.emit(...event));
  const { batchFeedback, batchSize } = this.options;
  let list = null;
  let batch = [];
  let isTold = false;
  try {
    list = server.withServer(this.options, (options) => new ferry.Feedback(options));
    for (let entries; (entries = await list.read());) {
      for (const { time, token } of entries) {
        const device = new Device(token);
        isTold = true;
        if (!batchFeedback) tell("feedback", time, device);
        else if (batch.push({ time, device }) === batchSize) {
          tell("feedback", batch);
          batch = [];
        }
      }
    }
    // An empty list is told, too, but never after a failure.
    if (batchFeedback && (batch.length > 0 || !isTold)) tell("feedback", batch);
  } catch (error) {
    if (batch.length > 0) tell("feedback", batch);
    if (!list) {
      this.cancel();
      tell("error", error);
    }
    tell("feedbackError", error);
  } finally {
    if (list) list.free();
    this._state.isReading = false;
  }
};

module.exports = Feedback;
