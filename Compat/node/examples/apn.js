"use strict";

// Sends a notification to each device as node-apn's documentation has it, and prints what was refused.
//
//   TOKENS=tokens.txt CERT=client.pem node examples/apn.js
//   CERT=client.pem node examples/apn.js feedback

const fs = require("fs");
const apn = require("apn");

const options = { cert: process.env.CERT, key: process.env.CERT, production: false };

function print(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

function send() {
  const tokens = fs.readFileSync(process.env.TOKENS, "utf8").split("\n").filter(Boolean);
  const service = new apn.Connection(options);

  service.on("transmissionError", function (errorCode, notification, device) {
    if (errorCode < 512) print({ token: device.toString(), status: errorCode });
    else console.error("not delivered, error " + errorCode + ": " + device);
  });
  service.on("socketError", console.error);

  const note = new apn.Notification();
  note.expiry = Math.floor(Date.now() / 1000) + 3600;
  note.alert = "Hello";
  tokens.forEach(function (token) {
    service.pushNotification(note, new apn.Device(token));
  });
  service.shutdown();
}

function readFeedback() {
  const feedback = new apn.Feedback(Object.assign({ batchFeedback: true, interval: 0 }, options));

  feedback.on("feedback", function (devices) {
    devices.forEach(function (item) {
      print({ token: item.device.toString(), time: item.time });
    });
  });
  feedback.on("feedbackError", console.error);
}

if (process.argv[2] === "feedback") readFeedback();
else send();
