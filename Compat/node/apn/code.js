"use strict";

const Errors = require("./errors");

/** The code of `transmissionError`; 0: there is no error. A device that is gone (410) is for the feedback list. */
function codeOf(outcome) {
  switch (outcome.outcome) {
  case "rejected":
    if (outcome.status === 410) return 0;
    if (outcome.legacy !== 0) return outcome.legacy;
    return outcome.status === 403 ? Errors.moduleInitialisationFailed : Errors.none;
  case "expired":
    return Errors.notificationExpired;
  case "uncertain":
    return Errors.retryLimitExceeded;
  default:
    if (outcome.detail === "credentials") return Errors.moduleInitialisationFailed;
    if (outcome.detail === "shutDown" || outcome.detail === "released") return Errors.connectionTerminated;
    return Errors.connectionRetryLimitExceeded;
  }
}

module.exports = codeOf;
