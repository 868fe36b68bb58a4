"use strict";

// One process with two OpenSSLs, as both.py has it, but without a child: Node cannot fork.
const ferry = require("ferry-apns");
const fs = require("fs");
const http = require("https");

const plan = JSON.parse(process.argv[2]);
const ca = fs.readFileSync(plan.ca);

function fail(text) {
  console.error(text);
  process.exit(1);
}

function https() {
  return new Promise((resolve, reject) => {
    http.get(plan.url, { ca, agent: false }, (response) => {
      let body = "";
      response.on("data", (data) => (body += data));
      response.on("end", () => (body === "hello\n" ? resolve() : fail("HTTPS brought something else.")));
    }).on("error", reject);
  });
}

async function push() {
  for (const answer of await ferry.push(plan.tokens, { aps: {} }, plan.options)) {
    if (!answer.accepted) fail(String(answer));
  }
}

async function main() {
  for (let turn = 0; turn < 2; turn++) {
    for (const step of plan.first === "https" ? [https, push] : [push, https]) await step();
  }
  const provider = new ferry.Provider(plan.options);
  const batch = plan.last.map((token, tag) => ({ tag, token, payload: { aps: {} } }));
  if (provider.submit(batch) !== batch.length) fail("libferry took less than all.");
  process.exit(7);
}
main().catch((error) => fail(error.stack));
