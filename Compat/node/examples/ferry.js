"use strict";

// Sends a notification to each device with the module `ferry`, and prints every outcome.
//
//   FERRY_CONFIG=ferry.json TOKENS=tokens.txt node examples/ferry.js

const fs = require("fs");
const { Provider } = require("ferry-apns");

async function main() {
  const tokens = fs.readFileSync(process.env.TOKENS, "utf8").split("\n").filter(Boolean);
  const notifications = tokens.map((token, tag) => ({ tag, token, payload: { aps: { alert: "Hello" } } }));
  const provider = new Provider({ backend: "auto", host: "gateway.push.apple.com", cert: process.env.CERT,
    config: process.env.FERRY_CONFIG });

  let submitted = 0;
  let settled = 0;
  while (settled < tokens.length) {
    if (submitted < tokens.length) submitted += provider.submit(notifications, submitted);
    for (const { tag, outcome, detail, reason } of provider.read()) {
      console.log(tokens[tag], outcome, detail, reason);
      settled++;
    }
    if (settled < tokens.length) await provider.wait();
  }
  await provider.close();
  provider.free();
}

main();
