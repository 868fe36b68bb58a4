"use strict";

/** A device token: a Buffer, or hexadecimal digits, perhaps as NSData describes itself: `<00112233 44556677>`. */
function Device(token) {
  if (!(this instanceof Device)) return new Device(token);
  if (Buffer.isBuffer(token)) this.token = Buffer.from(token);
  else if (typeof token === "string") {
    const digits = token.replace(/[\s<>]/g, "");
    if (/^([0-9a-f]{2})+$/i.test(digits)) this.token = Buffer.from(digits, "hex");
  }
  if (!this.token || this.token.length === 0) {
    throw new Error("A device token is a Buffer, or a string of hexadecimal digits, two for each byte.");
  }
}

/** The token in lower-case hexadecimal digits. */
Device.prototype.toString = function () {
  return this.token.toString("hex");
};

module.exports = Device;
