"use strict";

// push(): from tokens to answers in one call.

const assert = require("assert");
const fs = require("fs");
const ferry = require("../ferry-apns");
const { run, simulate, test, tls } = require("./harness");

const BODY = { aps: { alert: "Hé" } };
const push = (tokens, options) => ferry.push(tokens, BODY, { backend: "echo", ...options });
const token = (number, prefix = "00") => prefix.padEnd(56, "c") + number.toString(16).padStart(8, "0");

test("each token has its answer in the order of the tokens", async () => {
  const tokens = ["00ff", "bad0", "909e", "dead", "<00bd 1234>", "zz", "0", "", null, "00".repeat(101), "AABB"];
  const answers = await push(tokens);
  assert.deepStrictEqual(answers.map((answer) => answer.token), tokens);
  const rejected = new Array(5).fill("rejected");
  assert.deepStrictEqual(answers.map(({ outcome }) => outcome),
    ["accepted", "rejected", "rejected", "undelivered", "uncertain", ...rejected, "accepted"]);
  assert.deepStrictEqual(answers.map(({ reason }) => reason), [null, "BadDeviceToken", "Unregistered", "noConnection",
    "positionUnknown", ...new Array(5).fill("BadDeviceToken"), null]);
  assert.deepStrictEqual(answers.slice(0, 4).map(({ status }) => status), [null, 400, 410, null]);
  assert.deepStrictEqual(answers.map(({ accepted }) => accepted).indexOf(true, 1), 10);
});

test("one token has one answer, which is a sentence", async () => {
  assert.match(String(await push("bad0")), /^rejected: BadDeviceToken \(400\)\. The device token is invalid/);
  assert.strictEqual(`${await push("00ff", { pushType: "liveactivity", priority: 5 })}`, "accepted (confirmed)");
  assert.deepStrictEqual(await push([]), []);
});

test("more tokens than there is room for all have answers", async () => {
  const answers = await push(Array.from({ length: 1000 }, (_, number) => token(number)), { queueLimit: 50 });
  assert.strictEqual(answers.filter(({ accepted }) => accepted).length, 1000);
});

test("a notification that cannot be packed rejects, and so does a wrong option", async () => {
  for (const options of [{ pushType: "none" }, { priority: 256 }, { expiration: -1 }, { collapseId: "x".repeat(256) }]) {
    await assert.rejects(push("00ff", options), RangeError);
  }
  await assert.rejects(push("00ff", { colour: 1 }), /colour/);
});

test("more sets of options than there can be shared providers are served", async () => {
  for (let number = 0; number < 70; number++) assert.ok((await push("00ff", { queueLimit: 100 + number })).accepted);
});

test("answers have the words, the identifier and the time of APNs", async () => {
  const simulator = await simulate({ http2: { rules: [{ prefix: "bad0", status: 400, reason: "BadDeviceToken" },
    { prefix: "909e", status: 410, timestamp: 1600000000000 }] } });
  const options = { host: "localhost", port: simulator.ports.http2, ca: tls("ca.pem"), cert: simulator.cert,
    topic: "com.example.ferry", priority: 5, pushType: "background", collapseId: "c", expiration: 0 };
  const [accepted, bad, gone] = await ferry.push([token(1), token(2, "bad0"), token(3, "909e")], '{"aps":{}}', options);
  assert.deepStrictEqual([accepted.outcome, accepted.apnsId.length], ["accepted", 36]);
  assert.deepStrictEqual([bad.reason, bad.status], ["BadDeviceToken", 400]);
  assert.deepStrictEqual([gone.reason, gone.timestamp], ["Unregistered", 1600000000000]);
  const late = await ferry.push(token(4), BODY, { ...options, port: 1, deadline: 1 });
  assert.deepStrictEqual([late.outcome, late.reason], ["undelivered", "noConnection"]);
  await simulator.stop();
});

test("what is not given comes from the environment, and credentials never mix", async () => {
  const simulator = await simulate();
  const code = `const ferry = require("ferry-apns");
    (async () => {
      console.log(String(await ferry.push("${token(1)}", { aps: {} })));
      console.log(String(await ferry.push("${token(2)}", { aps: {} }, { cert: ${JSON.stringify(simulator.cert)} })));
    })();`;
  const result = await run(code, { FERRY_HOST: "localhost", FERRY_PORT: String(simulator.ports.http2),
    FERRY_CA: tls("ca.pem"), FERRY_TOPIC: "com.example.ferry", FERRY_P8: tls("token-key.p8"), FERRY_KEY_ID: "FERRYKEY01",
    FERRY_TEAM_ID: "FERRYTEAM1" });
  assert.deepStrictEqual([result.code, result.output, result.errors], [0, "accepted (confirmed)\n".repeat(2), ""]);
  await simulator.stop();
});

test("the first lines of the page run", async () => {
  const page = fs.readFileSync(`${__dirname}/../README.md`, "utf8");
  const [, code] = /## Send[^]*?```js\n([^]*?)```/.exec(page);
  assert.strictEqual(code.trim().split("\n").length, 3);
  const result = await run(code, { FERRY_BACKEND: "echo" });
  assert.deepStrictEqual([result.code, result.output, result.errors], [0, "accepted (confirmed)\n", ""]);
});
