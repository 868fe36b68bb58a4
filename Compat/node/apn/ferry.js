"use strict";

// The module `ferry-apns` of npm, or the folder beside this one.

module.exports = (() => {
  try {
    return require("ferry-apns");
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND" || !String(error.message).includes("ferry-apns")) throw error;
    return require("../ferry-apns");
  }
})();
