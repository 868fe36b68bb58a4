"use strict";

// The end of processes and threads in the middle of sending.

const assert = require("assert");
const { run, simulate, test } = require("./harness");

const COUNT = 8000;

/** What each program begins with. */
const START = `
  var apn = require("apn");
  var threads = require("worker_threads");
  var connection = new apn.Connection({ cert: process.env.CERT, key: process.env.CERT });
  function push(first) {
    var tokens = [];
    for (var i = 0; i < ${COUNT}; i++) tokens.push((first + i.toString(16)).padStart(64, "0"));
    connection.pushNotification(new apn.Notification({ a: 1 }), tokens);
  }
`;

const PROGRAMS = {
  "ends by itself": [0, "push('a');"],
  "calls process.exit at once": [7, "push('a'); process.exit(7);"],
  "calls process.exit in the middle": [7, "push('a'); setTimeout(function () { process.exit(7); }, 5);"],
  "calls process.exit in the middle of a shutdown": [7,
    "push('a'); connection.shutdown(); setTimeout(function () { process.exit(7); }, 10);"],
  "throws": [1, "push('a'); throw new Error('mine');"],
  "exits in a signal's handler": [9, `
    process.on("SIGTERM", function () { process.exit(9); });
    push('a');
    process.kill(process.pid, "SIGTERM");`],
  "ends the worker thread": [0, `
    if (!threads.isMainThread) { push('a'); process.exit(3); }
    new threads.Worker(__filename);`],
  "terminates the worker thread": [0, `
    if (threads.isMainThread) {
      var worker = new threads.Worker(__filename);
      worker.on("message", function () { worker.terminate(); });
    } else { push('a'); threads.parentPort.postMessage(0); setInterval(function () {}, 1000); }`],
};

for (const backend of ["http2", "binary"]) {
  for (const name of Object.keys(PROGRAMS)) {
    test(`a program that ${name} sends everything once over ${backend}`, async () => {
      const [code, program] = PROGRAMS[name];
      const simulator = await simulate();
      const result = await run(START + program, { FERRY_CONFIG: simulator.config(backend), CERT: simulator.cert });
      assert.strictEqual(result.code, code, result.errors);
      const tokens = (await simulator.stop()).map(({ token }) => token);
      assert.deepStrictEqual([tokens.length, new Set(tokens).size], [COUNT, COUNT]);
    });
  }
}

test("threads and processes of a cluster have connections of their own", async () => {
  const simulator = await simulate();
  const result = await run(`${START}
    var cluster = require("cluster");
    function wait() {
      connection.on("completed", function () {
        console.log("completed");
        if (cluster.isWorker) process.exit();
      });
    }
    if (cluster.isMaster && threads.isMainThread) {
      push("a");
      wait();
      cluster.fork();
      new threads.Worker(__filename);
    } else {
      push(cluster.isMaster ? "b" : "c");
      wait();
    }`, { FERRY_CONFIG: simulator.config("http2"), CERT: simulator.cert });
  assert.deepStrictEqual([result.code, result.output, result.errors], [0, "completed\n".repeat(3), ""]);
  const record = await simulator.stop();
  assert.strictEqual(new Set(record.map(({ token }) => token)).size, 3 * COUNT);
  assert.strictEqual(new Set(record.map(({ connection }) => connection)).size, 3);
});

test("what cannot be sent in time is said at the end", async () => {
  const simulator = await simulate({ http2: { rules: [{ at: 1, action: "stopReading" }] } });
  const result = await run(`${START} push("a"); process.exit(7);`,
    { FERRY_CONFIG: simulator.config("http2", { atExit: 0.3 }), CERT: simulator.cert });
  assert.strictEqual(result.code, 7);
  assert(/^ferry: at the end of the process, \d+ notifications were not delivered, and \d+ may have been\.\n$/
    .test(result.errors), result.errors);
});
