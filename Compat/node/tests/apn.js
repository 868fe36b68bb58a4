"use strict";

// The names of node-apn, against simulated servers.

const assert = require("assert");
const fs = require("fs");
const net = require("net");
const util = require("util");
const apn = require("../apn");
const { file, run, simulate, test, tls, until } = require("./harness");

const BAD = { rules: [{ prefix: "bad0", status: 8 }],
  http2: { rules: [{ prefix: "bad0", status: 400, reason: "BadDeviceToken" }, { prefix: "909e", status: 410 }] } };
const EVENTS = ["error", "socketError", "transmitted", "completed", "cacheTooSmall", "connected", "disconnected",
  "timeout", "transmissionError"];
const FUTURE = () => Math.floor(Date.now() / 1000) + 600;

function note(alert = "Hello") {
  const result = new apn.Notification();
  result.alert = alert;
  return result;
}

/** A connection whose events are written down, as `name argument …`. */
function connect(config, options) {
  process.env.FERRY_CONFIG = config || "";
  const connection = new apn.Connection(options);
  connection.log = [];
  const word = (value) =>
    (value instanceof apn.Notification ? "note" : value instanceof Error ? "Error" : String(value));
  for (const name of EVENTS) {
    connection.on(name, (...values) => connection.log.push([name, ...values.slice(0, 3).map(word)].join(" ")));
  }
  return connection;
}

const has = (connection, line) => until(() => connection.log.includes(line));
const codes = (connection) => connection.log.filter((line) => line.startsWith("transmissionError"));

/** A port where nothing listens. */
async function closedPort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

for (const backend of ["http2", "binary"]) {
  test(`events come in their order over ${backend}`, async () => {
    const simulator = await simulate(BAD);
    const connection = connect(simulator.config(backend), { cert: simulator.cert, key: simulator.cert });
    assert.strictEqual(connection.pushNotification(note(), ["00ff", "bad0", "00fe"]), undefined);
    connection.shutdown();
    await has(connection, "disconnected 0");
    await has(connection, "completed");
    await until(() => connection.log[connection.log.length - 1] === "disconnected 0");
    const { log } = connection;
    assert.strictEqual(log[0], "connected 1");
    assert.strictEqual(log.indexOf("transmissionError 8 note bad0"), log.indexOf("transmitted note bad0") + 1);
    assert.strictEqual(log[log.length - 2], "completed");
    for (const token of ["00ff", "bad0", "00fe"]) {
      assert.strictEqual(log.filter((line) => line === `transmitted note ${token}`).length, 1, log.join("\n"));
    }
    assert.strictEqual(log.filter((line) => line === "connected 1").length, backend === "binary" ? 2 : 1);
    const record = await simulator.stop();
    assert.deepStrictEqual(record.map(({ token }) => token).sort(), ["00fe", "00ff"]);
  });

  test(`programs of node-apn's documentation run over ${backend}`, async () => {
    const simulator = await simulate(BAD);
    const environment = { FERRY_CONFIG: simulator.config(backend) };
    fs.copyFileSync(simulator.cert, file() + ".pem");
    const start = `
      var apn = require('apn');
      process.chdir(${JSON.stringify(tls(""))});
      var options = { cert: 'client.pem', key: 'client-key.pem' };
      var apnConnection = new apn.Connection(options);`;
    const quick = await run(`${start}
      var myDevice = new apn.Device('<00112233 44556677>');
      var note = new apn.Notification();
      note.expiry = Math.floor(Date.now() / 1000) + 3600;
      note.badge = 3;
      note.sound = "ping.aiff";
      note.alert = "\\uD83D\\uDCE7 \\u2709 You have a new message";
      note.payload = {'messageFrom': 'Caroline'};
      apnConnection.pushNotification(note, myDevice);`, environment);
    assert.deepStrictEqual([quick.code, quick.output, quick.errors], [0, "", ""]);
    const many = await run(`${start}
      apnConnection.on("connected", function () { console.log("Connected"); });
      apnConnection.on("transmitted", function (notification, device) { console.log(device.token.toString("hex")); });
      apnConnection.on("transmissionError", function (errCode, notification, device) {
        console.log("error: " + errCode + " " + device + " " + notification.badge);
      });
      apnConnection.on("socketError", console.error);
      var note = new apn.notification();
      note.setAlertText("Hello, from node-apn!");
      note.badge = 1;
      apnConnection.pushNotification(note, ["00ff", Buffer.from("bad0", "hex")]);`, environment);
    assert.strictEqual(many.code, 0, many.errors);
    assert.deepStrictEqual(many.output.trim().split("\n").filter((line) => line !== "Connected").sort(),
      ["00ff", "bad0", "error: 8 bad0 1"]);
    const record = await simulator.stop();
    assert.deepStrictEqual(record.map(({ token }) => token), ["0011223344556677", "00ff"]);
    assert.strictEqual(JSON.stringify(record[0].payload),
      '{"messageFrom":"Caroline","aps":{"badge":3,"sound":"ping.aiff","alert":"📧 ✉ You have a new message"}}');
    assert(record[0].expiration > Date.now() / 1000 + 3000);
  });

  test(`the example tells each rejection once, and reads feedback, over ${backend}`, async () => {
    const feedback = { tuples: [{ token: "909e00", time: 1600000000 }] };
    const simulator = await simulate(Object.assign({ feedback }, BAD));
    const start = (i) => (i % 300 === 7 ? "bad0" : i % 300 === 8 && backend === "http2" ? "909e" : "0000");
    const tokens = Array.from({ length: 2000 }, (_, i) => start(i) + (65536 + i).toString(16).slice(1));
    const environment = { FERRY_CONFIG: simulator.config(backend, { feedback: file() }), CERT: simulator.cert,
      TOKENS: file(tokens.join("\n")) };
    const code = fs.readFileSync(require.resolve("../examples/apn.js"), "utf8");
    const sent = await run(code, environment);
    const bad = tokens.filter((token) => token.startsWith("bad0"));
    assert.deepStrictEqual([sent.code, sent.errors], [0, ""]);
    const lines = sent.output.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepStrictEqual(lines.map(({ token }) => token).sort(), bad);
    assert(lines.every(({ status }) => status === 8));
    const gone = await run(`process.argv.push("feedback");\n${code}`, environment);
    assert.strictEqual(gone.code, 0, gone.errors);
    const told = gone.output.trim().split("\n").map((line) => JSON.parse(line).token).sort();
    assert.deepStrictEqual(told, tokens.filter((token) => token.startsWith("909e")).concat("909e00").sort());
    const good = (await simulator.stop()).map(({ token }) => token).sort();
    assert.deepStrictEqual(good, tokens.filter((token) => token.startsWith("0000")));
  });

  test(`refused credentials are 513 for each, and one error, over ${backend}`, async () => {
    const simulator = await simulate({ handshake: "refuseClient", http2: { handshake: "refuseClient" } });
    const connection = connect(simulator.config(backend), { cert: simulator.cert, key: simulator.cert });
    connection.pushNotification(note(), ["00ff", "00fe"]);
    await has(connection, "error Error");
    connection.pushNotification(note(), ["00fd"]);
    await has(connection, "transmissionError 513 note 00fd");
    assert.deepStrictEqual(codes(connection).sort(),
      ["00fd", "00fe", "00ff"].map((token) => `transmissionError 513 note ${token}`));
    assert.strictEqual(connection.log.filter((line) => line.startsWith("error")).length, 1, connection.log.join("\n"));
    connection.shutdown();
  });

  test(`completed comes once, after the last error, over ${backend}`, async () => {
    const simulator = await simulate(BAD);
    const connection = connect(simulator.config(backend), { cert: simulator.cert, key: simulator.cert });
    const batch = async (...recipients) => {
      connection.log.length = 0;
      for (const recipient of recipients) connection.pushNotification(note(), recipient);
      await has(connection, "completed");
      await new Promise((resolve) => setTimeout(resolve, 50));
      const told = connection.log.filter((line) => /^(completed|transmissionError)/.test(line));
      assert.strictEqual(told.indexOf("completed"), told.length - 1, connection.log.join("\n"));
      return told.length - 1;
    };
    assert.strictEqual(await batch("bad001"), 1);
    assert.strictEqual(await batch(["bad001", "bad002", "bad003"]), 3);
    assert.strictEqual(await batch("xyz"), 1);
    assert.strictEqual(await batch(["xyz", undefined, "00".repeat(101)]), 3);
    assert.strictEqual(await batch(["00ff", "xyz"], "bad001", ["012"]), 3);
    // A listener pushes once more, to a token that is none.
    connection.once("transmitted", () => connection.pushNotification(note(), "xyz"));
    assert.strictEqual(await batch("00ff"), 1);
    connection.once("transmissionError", () => connection.pushNotification(note(), ["xyz", "bad002"]));
    assert.strictEqual(await batch("bad001"), 3);
    connection.shutdown();
    assert.strictEqual(await batch(["00ff", "00fe"]), 2); // 515
    assert.strictEqual(connection.log.filter((line) => line === "completed").length, 1);
  });

  test(`a full queue makes pushes wait, and nothing is lost, over ${backend}`, async () => {
    const simulator = await simulate(BAD);
    const config = simulator.config(backend, { queueLimit: 50 });
    const connection = connect(config, { cert: simulator.cert, key: simulator.cert });
    connection.removeAllListeners();
    let transmitted = 0;
    let again = 0;
    let completed = 0;
    connection.on("transmitted", () => transmitted++);
    connection.on("completed", () => completed++);
    // Pushing in a listener, while the queue is full.
    connection.on("transmissionError", (code, notification, device) => {
      connection.pushNotification(notification, "00ee" + device.toString().slice(4));
      again++;
    });
    const token = (i) => (i % 100 === 0 ? "bad0" : "0000") + (65536 + i).toString(16).slice(1);
    for (let i = 0; i < 1000; i++) connection.pushNotification(note(), token(i));
    connection.pushNotification(note(), Array.from({ length: 1000 }, (_, i) => token(1000 + i)));
    assert.strictEqual(completed, 0);
    await until(() => completed > 0);
    assert.deepStrictEqual([transmitted, again, completed], [2020, 20, 1]);
    const record = await simulator.stop();
    assert.strictEqual(new Set(record.map((line) => line.token)).size, 2000);
    assert.strictEqual(record.length, 2000);
  });
}

test("what is wrong before it is sent has a code, each recipient for itself", async () => {
  const connection = connect(file("{}"), { cert: "/nowhere/cert.pem" });
  const callbacks = [];
  connection.options.errorCallback = (...values) => callbacks.push(values.length + " " + values[0]);
  const own = note();
  own.errorCallback = (...values) => callbacks.push(`own ${values[0]} ${values[1]}`);
  connection.pushNotification(note("x".repeat(2100)), ["00ff", "00fe"]);
  connection.pushNotification(note(), [undefined, null, "", "xyz", "012", 5, {}, Buffer.alloc(0), "00".repeat(101)]);
  connection.pushNotification(own, undefined);
  connection.sendNotification(own);
  assert.deepStrictEqual(connection.log, []);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.deepStrictEqual(codes(connection).map((line) => line.slice(18)), ["7 note 00ff", "7 note 00fe",
    "2 note undefined", "8 note null", "8 note ", "8 note xyz", "8 note 012", "8 note 5",
    "8 note [object Object]", "8 note ",
    "5 note " + "00".repeat(101), "2 note undefined", "2 note undefined"]);
  assert.deepStrictEqual(callbacks.slice(0, 3), ["3 7", "3 7", "3 2"]);
  assert.deepStrictEqual(callbacks.slice(-2), ["own 2 undefined", "own 2 undefined"]);
  assert.throws(() => connection.pushNotification("text", "00ff"), TypeError);
  assert.throws(() => connection.pushNotification(note().setExpiry(Date.now()), "00ff"), RangeError);
  new apn.Connection({ voip: true }).pushNotification(note("x".repeat(2100)), []);
});

test("unreadable credentials are 513 for each, and one error that nobody can miss", async () => {
  const connection = connect(null, { cert: "/nowhere/cert.pem" });
  const callbacks = [];
  connection.options.errorCallback = (error) => callbacks.push(error instanceof Error ? error.message : error);
  connection.pushNotification(note(), ["00ff", "00fe"]);
  await has(connection, "completed");
  connection.pushNotification(note(), "00fd");
  await until(() => connection.log.filter((line) => line === "completed").length === 2);
  assert.deepStrictEqual(connection.log, ["transmissionError 513 note 00ff", "transmissionError 513 note 00fe",
    "error Error", "completed", "transmissionError 513 note 00fd", "completed"]);
  assert.deepStrictEqual(callbacks, [513, 513, "The file /nowhere/cert.pem does not exist.", 513]);
  const silent = await run(`
    var apn = require("apn");
    new apn.Connection({}).pushNotification(new apn.Notification({ a: 1 }), "00ff");`, { FERRY_CONFIG: "" });
  assert.strictEqual(silent.code, 1);
  assert(silent.errors.includes("Error: The file cert.pem does not exist."), silent.errors);
});

test("without a connection it is 514 for each, and the connection can be used again", async () => {
  const simulator = await simulate();
  const port = await closedPort();
  const config = simulator.config("binary", { port });
  const connection = connect(config, { cert: simulator.cert, key: simulator.cert, connectionRetryLimit: 1 });
  connection.pushNotification(note(), ["00ff", "00fe"]);
  await has(connection, "completed");
  await has(connection, "error Error");
  const isSocketError = (line) => line.startsWith("socketError");
  assert.deepStrictEqual(connection.log.filter((line) => !isSocketError(line)),
    ["transmissionError 514 note 00ff", "transmissionError 514 note 00fe", "error Error", "completed"]);
  assert(connection.log.filter(isSocketError).length >= 2, connection.log.join("\n"));
  connection.log.length = 0;
  connection.pushNotification(note(), "00fd");
  await has(connection, "transmissionError 514 note 00fd");
  connection.shutdown();
  // Without a listener for `error` the program goes on: the network may come back.
  const quiet = await run(`
    var apn = require("apn");
    var connection = new apn.Connection({ cert: process.env.CERT, key: process.env.CERT, connectionRetryLimit: 1 });
    connection.pushNotification(new apn.Notification({ a: 1 }), ["00ff", "00fe"]);`,
  { FERRY_CONFIG: config, CERT: simulator.cert });
  assert.strictEqual(quiet.code, 0, quiet.errors);
  assert(quiet.errors.includes("2 notifications were not delivered, and nobody listens"), quiet.errors);
});

test("what may have arrived is 512, an unknown reason 255, and 410 no error", async () => {
  const simulator = await simulate({ http2: { rules: [{ prefix: "01", action: "silence" },
    { prefix: "02", status: 400, reason: "TopicDisallowed" }, { prefix: "03", status: 403, reason: "BadCertificate" },
    { prefix: "909e", status: 410 }] } });
  const config = simulator.config("http2", { attemptTimeout: 0.3 });
  const connection = connect(config, { cert: simulator.cert, key: simulator.cert });
  let reason;
  connection.on("transmissionError", (code, notification, device, outcome) => {
    if (code === 255) reason = outcome.reason;
  });
  connection.pushNotification(note(), ["01aa", "02aa", "03aa", "909e", "00ff"]);
  connection.shutdown();
  await has(connection, "disconnected 0");
  assert.deepStrictEqual(codes(connection).map((line) => line.slice(18)).sort(),
    ["255 note 02aa", "512 note 01aa", "513 note 03aa"]);
  assert.strictEqual(reason, "TopicDisallowed");
  await has(connection, "error Error");
});

test("what expires before it is written is 516", async () => {
  const simulator = await simulate({ http2: { maxConcurrentStreams: 1, answerDelaySeconds: 1.5 } });
  const connection = connect(simulator.config("http2"), { cert: simulator.cert, key: simulator.cert });
  connection.pushNotification(note(), "00ff");
  connection.pushNotification(note().setExpiry(Math.floor(Date.now() / 1000) + 1), "00fe");
  await has(connection, "transmissionError 516 note 00fe");
  connection.shutdown();
});

test("an expiry that is no time to come means once", async () => {
  const simulator = await simulate();
  const connection = connect(simulator.config("http2"), { cert: simulator.cert, key: simulator.cert });
  const expiry = FUTURE();
  for (const value of [0, -5, 3600, undefined, NaN, 4294967295, expiry + 0.5]) {
    connection.pushNotification(note(String(value)).setExpiry(value), "00ff");
  }
  connection.pushNotification(note("priority").setPriority(5), "00ff");
  connection.shutdown();
  await has(connection, "disconnected 0");
  const record = await simulator.stop();
  assert.deepStrictEqual(record.map((line) => line.expiration), [0, 0, 0, 0, 0, 0, expiry, 0]);
  assert.deepStrictEqual(record.map((line) => line.priority), [10, 10, 10, 10, 10, 10, 10, 5]);
});

test("after shutdown pushes are refused with 515, until the connection is closed", async () => {
  const simulator = await simulate();
  const connection = connect(simulator.config("http2"), { cert: simulator.cert, key: simulator.cert });
  connection.shutdown();
  assert.strictEqual(connection.pushNotification(note(), "00f0"), false);
  assert.deepStrictEqual(connection.log, ["transmissionError 515 note 00f0"]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const token of ["00f1", "00f2"]) {
    connection.log.length = 0;
    connection.pushNotification(note(), token);
    connection.shutdown();
    assert.strictEqual(connection.pushNotification(note(), ["00aa", "00ab"]), false);
    assert.deepStrictEqual(codes(connection), ["transmissionError 515 note 00aa", "transmissionError 515 note 00ab"]);
    // A push in the last event is one to a connection that is closed.
    await has(connection, "disconnected 0");
  }
  connection.once("disconnected", () => connection.pushNotification(note(), "00f4"));
  connection.pushNotification(note(), "00f3");
  connection.shutdown();
  await has(connection, "transmitted note 00f4");
  const record = await simulator.stop();
  assert.deepStrictEqual(record.map(({ token }) => token), ["00f1", "00f2", "00f3", "00f4"]);
  assert.deepStrictEqual(Array.from(new Set(record.map(({ connection }) => connection))), [1, 2, 3, 4]);
});

test("a late error is told for the right device", async () => {
  const simulator = await simulate(Object.assign({ errorDelaySeconds: 0.6 }, BAD));
  const config = simulator.config("binary", { settleTime: 0.1 });
  const connection = connect(config, { cert: simulator.cert, key: simulator.cert });
  connection.pushNotification(note(), ["00ff", "bad0", "00fe"]);
  await has(connection, "completed");
  assert.deepStrictEqual(codes(connection), []);
  await has(connection, "transmissionError 8 note bad0");
  await new Promise((resolve) => setTimeout(resolve, 100));
  connection.shutdown();
  const record = await simulator.stop();
  assert.deepStrictEqual(record.map(({ token }) => token), ["00ff", "00fe"]);
});

test("a listener that throws loses nothing", async () => {
  const simulator = await simulate(BAD);
  const result = await run(`
    var apn = require("apn");
    var thrown = 0, told = [];
    process.on("uncaughtException", function (error) { if (error.message !== "mine") throw error; thrown++; });
    var connection = new apn.Connection({ cert: process.env.CERT, key: process.env.CERT });
    function fail(name) { return function () { told.push(name); throw new Error("mine"); }; }
    connection.on("transmitted", fail("transmitted"));
    connection.on("transmissionError", fail("transmissionError"));
    connection.on("connected", fail("connected"));
    connection.on("completed", fail("completed"));
    connection.on("disconnected", function () { console.log(thrown, told.join(" ")); });
    connection.pushNotification(new apn.Notification({ a: 1 }), ["00ff", "00fe"]);
    connection.shutdown();`, { FERRY_CONFIG: simulator.config("http2"), CERT: simulator.cert });
  assert.strictEqual(result.output, "4 connected transmitted transmitted completed\n", result.errors);
});

test("a listener that throws while a push waits for room loses nothing", async () => {
  const simulator = await simulate(BAD);
  const result = await run(`
    var apn = require("apn"), thrown = 0, transmitted = 0;
    process.on("uncaughtException", function (error) { if (error.message !== "mine") throw error; thrown++; });
    var connection = new apn.Connection({ cert: process.env.CERT, key: process.env.CERT });
    connection.on("transmitted", function () { transmitted++; throw new Error("mine"); });
    connection.on("completed", function () { console.log(thrown, transmitted); });
    var tokens = [];
    for (var i = 0; i < 1000; i++) tokens.push((65536 + i).toString(16));
    connection.pushNotification(new apn.Notification({ a: 1 }), tokens.map(function (token) { return "0" + token; }));`,
  { FERRY_CONFIG: simulator.config("http2", { queueLimit: 50 }), CERT: simulator.cert });
  assert(/^\d+ 1000\n$/.test(result.output), result.output + result.errors);
  assert.strictEqual((await simulator.stop()).length, 1000);
});

test("credentials may be file names, text or bytes", async () => {
  const simulator = await simulate();
  const cert = fs.readFileSync(tls("client.pem"));
  const key = fs.readFileSync(tls("client-key.pem"));
  const passphrase = fs.readFileSync(tls("client-passphrase.txt"), "utf8").trim();
  const before = fs.readdirSync("/proc/self/fd").length;
  for (const options of [{ cert: tls("client.pem"), key: tls("client-key.pem") }, { cert, key },
    { cert: String(cert), key: String(key) }, { cert: null, key: null, certData: cert, keyData: key },
    { pfx: tls("client.p12"), passphrase }, { pfx: fs.readFileSync(tls("client.p12")), passphrase }]) {
    const server = { address: "localhost", port: String(simulator.ports.binary),
      ca: [tls("ca.pem"), fs.readFileSync(tls("server.pem"))] };
    const connection = connect(file('{"settleTime":0.1}'), Object.assign(server, options));
    connection.pushNotification(note(), "00ff");
    connection.shutdown();
    await has(connection, "disconnected 0");
    assert(connection.log.includes("transmitted note 00ff"), connection.log.join("\n"));
  }
  assert.strictEqual((await simulator.stop()).length, 6);
  const after = fs.readdirSync("/proc/self/fd").length;
  assert(after <= before + 4, `${before} descriptors, then ${after}`);
});

test("addresses are chosen as node-apn chose them", async () => {
  const address = (options) => {
    const { options: result } = new apn.Connection(options);
    return `${result.address} ${result.production}`;
  };
  assert.strictEqual(address(), "gateway.sandbox.push.apple.com false");
  assert.strictEqual(address({ production: true }), "gateway.push.apple.com true");
  assert.strictEqual(address({ address: "gateway.push.apple.com" }), "gateway.push.apple.com true");
  assert.strictEqual(address({ production: true, address: "localhost" }), "localhost false");
  assert.strictEqual(address({ gateway: "localhost", address: "other" }), "localhost false");
  process.env.NODE_ENV = "production";
  assert.strictEqual(address({ production: undefined }), "gateway.push.apple.com true");
  delete process.env.NODE_ENV;
  const { options } = new apn.Connection({ cacheLength: 0, maxConnections: -1 });
  assert.deepStrictEqual([options.cacheLength, options.maxConnections, options.port], [1, 1, 2195]);
});

test("names are those of node-apn", () => {
  for (const name of ["Connection", "Device", "Feedback", "Notification"]) {
    assert.strictEqual(apn[name], apn[name.toLowerCase()]);
  }
  assert.strictEqual(apn.error, apn.Errors);
  assert.strictEqual(apn.Errors.connectionTerminated, 515);
  assert(apn.Connection({}) instanceof apn.Connection);
  function Mine() {
    apn.Connection.call(this, {});
  }
  util.inherits(Mine, apn.Connection);
  assert.strictEqual(new Mine().options.port, 2195);
  const connection = new apn.Connection();
  connection.setCacheLength(0);
  assert.strictEqual(connection.options.cacheLength, 1);
  assert.throws(() => connection.sockets, /is not kept/);
  assert.throws(() => connection.notificationBuffer, /is not kept/);
  assert(util.inspect(connection).length < 3000);
});
