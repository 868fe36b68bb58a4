"use strict";

/** The codes of `transmissionError`. Below 512 they are those of the binary protocol. */
module.exports = {
  noErrorsEncountered: 0,
  processingError: 1,
  missingDeviceToken: 2,
  missingTopic: 3,
  missingPayload: 4,
  invalidTokenSize: 5,
  invalidTopicSize: 6,
  invalidPayloadSize: 7,
  invalidToken: 8,
  apnsShutdown: 10,
  none: 255, // refused, for a reason that the binary protocol does not know
  retryLimitExceeded: 512, // it may have arrived, and is not sent again
  // Certainly not delivered:
  moduleInitialisationFailed: 513, // options or credentials
  connectionRetryLimitExceeded: 514, // no connection, or not in time
  connectionTerminated: 515, // after shutdown()
  notificationExpired: 516, // new here
};
