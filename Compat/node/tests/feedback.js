"use strict";

// The class Feedback of `apn`.

const assert = require("assert");
const apn = require("../apn");
const { file, run, simulate, test, until } = require("./harness");

const TUPLES = ["00aa", "00bb", "00cc"].map((token, i) => ({ token, time: 1700000000 + i }));
const WHOLE = "00aa 1700000000,00bb 1700000001,00cc 1700000002";
const words = (devices) => devices.map(({ device, time }) => `${device} ${time}`).join();

/** Reads a list, and writes its events down. */
function read(simulator, options, more) {
  process.env.FERRY_CONFIG = simulator.config("binary", more);
  const feedback = new apn.Feedback(Object.assign({ cert: simulator.cert, key: simulator.cert, interval: 0 }, options));
  feedback.log = [];
  feedback.on("feedback", (devices, device) => {
    feedback.log.push(device ? `one ${device} ${devices}` : `feedback ${words(devices)}`);
  });
  for (const name of ["error", "feedbackError"]) {
    feedback.on(name, (error) => feedback.log.push(`${name} ${error.message}`));
  }
  return feedback;
}

test("a list comes at once, in batches, or one by one", async () => {
  for (const [options, expected] of [
    [{}, [`feedback ${WHOLE}`]],
    [{ batchSize: 2 }, ["feedback 00aa 1700000000,00bb 1700000001", "feedback 00cc 1700000002"]],
    [{ batchSize: 3 }, [`feedback ${WHOLE}`]],
    [{ batchFeedback: false }, WHOLE.split(",").map((line) => `one ${line}`)],
  ]) {
    const simulator = await simulate({ feedback: { tuples: TUPLES } });
    const feedback = read(simulator, options);
    await until(() => feedback.log.length === expected.length);
    assert.deepStrictEqual(feedback.log, expected);
    await simulator.stop();
  }
});

test("a list is empty only if the service says so", async () => {
  const simulator = await simulate({ feedback: { tuples: TUPLES, fault: "closesAtOnce", times: 0 } });
  const feedback = read(simulator, { interval: 0.2 });
  await until(() => feedback.log.length === 2);
  feedback.cancel();
  assert.strictEqual(feedback.interval, undefined);
  assert.deepStrictEqual(feedback.log, [`feedback ${WHOLE}`, "feedback "]);
  await simulator.stop();
  feedback.log.length = 0;
  feedback.start();
  await until(() => feedback.log.length > 0);
  feedback.cancel();
  assert(/^feedbackError .*Connection refused/.test(feedback.log[0]), feedback.log[0]);
});

test("of a list that is cut short, what came is told before the error", async () => {
  const simulator = await simulate({ feedback: { tuples: TUPLES, fault: "truncates" } });
  const feedback = read(simulator);
  await until(() => feedback.log.length === 2);
  assert.strictEqual(feedback.log[0], "feedback 00aa 1700000000,00bb 1700000001");
  assert(feedback.log[1].startsWith("feedbackError "), feedback.log[1]);
});

test("a listener that throws does not end the reading", async () => {
  const simulator = await simulate({ feedback: { tuples: TUPLES } });
  const result = await run(`
    var apn = require("apn"), told = 0;
    process.on("uncaughtException", function () {});
    process.on("exit", function () { console.log(told); });
    new apn.Feedback({ cert: process.env.CERT, key: process.env.CERT, interval: 0, batchFeedback: false,
      feedback: function (time, device) { told++; throw new Error("mine"); } });`,
  { FERRY_CONFIG: simulator.config("binary"), CERT: simulator.cert });
  assert.strictEqual(result.output, "3\n", result.errors);
});

test("wrong options are an error that nobody can miss", async () => {
  const feedback = read({ config: () => file("{}"), cert: "/nowhere.pem" }, { address: "localhost", interval: 60 });
  await until(() => feedback.log.length === 2);
  assert.deepStrictEqual(feedback.log,
    ["error The file /nowhere.pem does not exist.", "feedbackError The file /nowhere.pem does not exist."]);
  const apple = await run('new (require("apn").Feedback)({ cert: "cert.pem" });', { FERRY_CONFIG: "" });
  assert.strictEqual(apple.code, 1);
  assert(apple.errors.includes("Apple switched its feedback service off. Name a file in"), apple.errors);
});
