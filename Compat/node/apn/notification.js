"use strict";

/** What is sent to a device. Fields that have a value go into `aps` of the payload when it is compiled. */
function Notification(payload) {
  this.encoding = "utf8"; // for length() and trim(). The payload is always sent as UTF-8
  this.payload = payload || {};
  this.expiry = 0;
  this.priority = 10;
  this.retryLimit = -1;
  this.device = undefined;
  this.compiled = false;
  this.truncateAtWordEnd = false;
}

// MARK: Fields

const isType = (type) => (value) => value === undefined || typeof value === type;
const flag = (value) => (value === 1 || value === true ? 1 : undefined);

/** Makes a field whose change undoes compile(). A value that it does not accept is ignored. */
function field(name, accepts, convert = (value) => value) {
  Object.defineProperty(Notification.prototype, name, {
    get() {
      return this["_" + name];
    },
    set(value) {
      if (!accepts(value)) return;
      this["_" + name] = convert(value);
      this.compiled = false;
    },
  });
}

field("alert", (value) => value === undefined || typeof value === "string" || typeof value === "object");
field("badge", isType("number"));
field("sound", isType("string"));
field("contentAvailable", () => true, flag);
field("mutableContent", () => true, flag);
field("mdm", () => true);
field("urlArgs", (value) => value === undefined || Array.isArray(value));
field("category", isType("string"));

Object.defineProperty(Notification.prototype, "newsstandAvailable", {
  get() {
    return this.contentAvailable;
  },
  set(value) {
    this.contentAvailable = value;
  },
});

/** Makes a method that sets a field and returns the notification. */
function setter(name, fieldName) {
  Notification.prototype[name] = function (value) {
    this[fieldName] = value;
    return this;
  };
}

setter("setExpiry", "expiry");
setter("setPriority", "priority");
setter("setBadge", "badge");
setter("setSound", "sound");
setter("setContentAvailable", "contentAvailable");
setter("setNewsstandAvailable", "newsstandAvailable");
setter("setMutableContent", "mutableContent");
setter("setMDM", "mdm");
setter("setTruncateAtWordEnd", "truncateAtWordEnd");
setter("setUrlArgs", "urlArgs");
setter("setCategory", "category");

// MARK: Alerts

/** Makes a method that sets a part of the alert. A text becomes the body of an alert with parts. */
function alertSetter(name, key, isRemovable) {
  Notification.prototype[name] = function (value) {
    const alert = typeof this.alert === "string" ? { body: this.alert } : Object.assign({}, this.alert);
    if (isRemovable && !value) delete alert[key];
    else alert[key] = value;
    this.alert = alert;
    return this;
  };
}

alertSetter("setAlertTitle", "title");
alertSetter("setTitleLocKey", "title-loc-key");
alertSetter("setTitleLocArgs", "title-loc-args");
alertSetter("setAlertAction", "action");
alertSetter("setActionLocKey", "action-loc-key");
alertSetter("setLocKey", "loc-key", true);
alertSetter("setLocArgs", "loc-args", true);
alertSetter("setLaunchImage", "launch-image", true);

const hasParts = (alert) => typeof alert === "object" && alert !== null;

Notification.prototype.getAlertText = function () {
  return hasParts(this.alert) ? this.alert.body : this.alert;
};

Notification.prototype.setAlertText = function (text) {
  this.alert = hasParts(this.alert) ? Object.assign({}, this.alert, { body: text }) : text;
  return this;
};

// MARK: The payload

/** The payload with its `aps`. Neither `payload` nor a field is changed by it. */
Notification.prototype.toJSON = function () {
  if (typeof this.mdm === "string") return Object.assign({}, this.payload, { mdm: this.mdm });
  const aps = Object.assign({}, this.payload.aps);
  if (this.badge !== undefined) aps.badge = this.badge;
  if (this.sound) aps.sound = this.sound;
  if (this.alert) aps.alert = this.alert;
  if (this.contentAvailable) aps["content-available"] = 1;
  if (this.mutableContent) aps["mutable-content"] = 1;
  if (this.urlArgs) aps["url-args"] = this.urlArgs;
  if (this.category) aps.category = this.category;
  const result = Object.assign({}, this.payload, { aps });
  if (Object.keys(aps).every((key) => aps[key] === undefined)) delete result.aps;
  return result;
};

/** The payload as JSON. It is kept until a field is set. */
Notification.prototype.compile = function () {
  if (!this.compiled) this.compiled = JSON.stringify(this);
  return this.compiled;
};

/** The length of the payload in bytes. */
Notification.prototype.length = function () {
  this.compiled = false;
  return Buffer.byteLength(this.compile(), this.encoding || "utf8");
};

/** Shortens the text of the alert so that the payload has at most `length` bytes. Returns how many bytes it took away.
 * A number below 0 says how many are too many: the text is shorter than that, and stays. */
Notification.prototype.trim = function (length) {
  const tooLong = this.length() - (length || 2048);
  if (tooLong <= 0) return 0;
  const text = this.getAlertText();
  if (!text || typeof text !== "string") return -tooLong;
  const size = (part) => Buffer.byteLength(JSON.stringify(part), this.encoding || "utf8") - quotes;
  const quotes = Buffer.byteLength('""', this.encoding || "utf8");
  const bytes = size(text);
  if (bytes < tooLong) return bytes - tooLong;
  let kept = 0;
  let left = bytes - tooLong;
  for (const character of text) {
    left -= size(character);
    if (left < 0) break;
    kept += character.length;
  }
  const space = text.lastIndexOf(" ", kept - 1);
  if (this.truncateAtWordEnd === true && space > 0 && text[kept] !== " ") kept = space;
  const short = text.slice(0, kept);
  this.setAlertText(short);
  return bytes - size(short);
};

/** A notification with the same fields. */
Notification.prototype.clone = function (device) {
  const clone = Object.assign(new Notification(), this);
  clone.device = device;
  clone.compiled = false;
  return clone;
};

module.exports = Notification;
