"use strict";

// The module `ferry`.

const assert = require("assert");
const fs = require("fs");
const ferry = require("../ferry-apns");
const { file, run, simulate, test, tls } = require("./harness");

const echo = (options) => new ferry.Provider(Object.assign({ backend: "echo" }, options));
const note = (tag, token = "00ff") => ({ tag, token, payload: '{"aps":{}}' });
const PAYLOAD = { aps: { alert: "Hello" } };

/** Reads until there are `count` outcomes. */
async function outcomes(provider, count) {
  const result = [];
  while (result.length < count) {
    await provider.wait(5);
    result.push(...provider.read());
  }
  return result;
}

function provider(simulator, backend, options) {
  return new ferry.Provider(Object.assign({ backend: "auto", host: "localhost", port: 1, cert: simulator.cert,
    config: simulator.config(backend) }, options));
}

test("outcomes that differ in their tags alone are read as runs", () => {
  const sender = echo();
  sender.submitTo({ payload: PAYLOAD }, ["0000", "0000", "0000", "bad0", "0000"], 10);
  assert.deepStrictEqual(sender.readRuns(2).map(([, tags]) => tags), [[10, 11]]);
  const runs = sender.readRuns();
  assert.deepStrictEqual(runs.map(([, tags]) => tags), [[12], [13], [14]]);
  assert.deepStrictEqual(runs.map(([{ tag, reason }]) => [tag, reason]), [[12, ""], [13, "BadDeviceToken"], [14, ""]]);
  assert.deepStrictEqual(sender.readRuns(), []);
  sender.free();
});

test("a notification goes out with all its fields", async () => {
  const simulator = await simulate();
  const apnsId = "eabeae54-14a8-11e5-b60b-1697f925ec7b";
  const sender = new ferry.Provider({ backend: "http2", host: "localhost", port: simulator.ports.http2,
    ca: tls("ca.pem"), topic: "com.example.ferry", p8: tls("token-key.p8"), keyId: "FERRYKEY01",
    teamId: "FERRYTEAM1" });
  const expiration = Math.floor(Date.now() / 1000) + 600;
  sender.submit([
    { tag: 1, token: "00ff", payload: PAYLOAD, topic: "com.example.other", collapseId: "é", apnsId, pushType: "alert",
      priority: 5, expiration },
    { tag: 2, token: Buffer.from("00fe", "hex"), payload: '{"aps":{"alert":"ü 📧"}}' },
    { tag: Number.MAX_SAFE_INTEGER, token: "00fd", payload: Buffer.from("{}"), expiration: 0 },
  ]);
  const told = await outcomes(sender, 3);
  assert.deepStrictEqual(told.map(({ tag }) => tag).sort((a, b) => a - b), [1, 2, Number.MAX_SAFE_INTEGER]);
  assert.strictEqual(told.find(({ tag }) => tag === 1).apnsId, apnsId);
  await sender.close();
  const record = await simulator.stop();
  const first = record.find(({ token }) => token === "00ff");
  const { topic, collapseId, pushType, priority } = first;
  assert.deepStrictEqual([topic, collapseId, pushType, priority], ["com.example.other", "é", "alert", 5]);
  assert.deepStrictEqual([first.apnsId, first.expiration], [apnsId, expiration]);
  assert.deepStrictEqual(first.payload, PAYLOAD);
  assert.strictEqual(record.find(({ token }) => token === "00fe").payload.aps.alert, "ü 📧");
  assert.strictEqual(record.find(({ token }) => token === "00fd").expiration, 0);
  assert.strictEqual(record.find(({ token }) => token === "00fe").expiration, null);
});

test("outcomes have words, and APNs' time and name", async () => {
  const simulator = await simulate({ http2: { rules: [{ prefix: "bad0", status: 400, reason: "BadDeviceToken" },
    { prefix: "909e", status: 410, timestamp: 1600000000000 }] } });
  const sender = provider(simulator, "http2");
  sender.submit([note(1), note(2, "bad0"), note(3, "909e"), { tag: 4, token: "00ff", payload: "no JSON" }]);
  const byTag = [];
  for (const outcome of await outcomes(sender, 4)) byTag[outcome.tag] = outcome;
  const fields = ({ outcome, detail, status, reason, legacy, timestamp }) =>
    [outcome, detail, status, reason, legacy, timestamp];
  assert.deepStrictEqual(fields(byTag[1]), ["accepted", "confirmed", 0, "", 0, null]);
  assert.deepStrictEqual(fields(byTag[2]), ["rejected", "apns", 400, "BadDeviceToken", 8, null]);
  assert.deepStrictEqual(fields(byTag[3]), ["rejected", "apns", 410, "Unregistered", 0, 1600000000000]);
  assert.deepStrictEqual(fields(byTag[4]), ["rejected", "ferry", 0, "BadRequestPayload", 7, null]);
  assert(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(byTag[1].apnsId), byTag[1].apnsId);
  await sender.close();
});

test("wrong options throw the library's sentence", async () => {
  assert.throws(() => new ferry.Provider({ backend: "echo", nix: 1 }), (error) =>
    error.code === "FERRY_EOPTIONS" && error.message === "There is no option 'nix' here.");
  assert.throws(() => new ferry.Provider(), { code: "FERRY_EOPTIONS" });
  assert.throws(() => new ferry.Feedback(), TypeError);
  assert.throws(() => echo().set({ share: 3 }), { code: "FERRY_EOPTIONS" });
});

test("what cannot be packed throws, and nothing is submitted", async () => {
  const sender = echo();
  const wrong = [{ token: "" }, { token: "0" }, { token: "0g" }, { token: "00".repeat(101) }, { token: 5 },
    { token: null }, { token: Buffer.alloc(0) }, { token: Buffer.alloc(101) }, { payload: "x".repeat(65536) },
    { payload: "é".repeat(32768) }, { payload: Buffer.alloc(65536) }, { payload: 7 }, { payload: undefined },
    { topic: "x".repeat(256) }, { topic: 5 },
    { collapseId: "é".repeat(128) }, { apnsId: "00" }, { apnsId: {} }, { tag: -1 }, { tag: 0.5 }, { tag: 2 ** 53 },
    { tag: "1" }, { tag: undefined }, { priority: 256 }, { priority: -1 }, { priority: 1.5 }, { priority: "10" },
    { pushType: "nix" }, { pushType: 3 }, { expiration: -1 }, { expiration: 2 ** 32 }, { expiration: 0.5 },
    { expiration: "5" }];
  for (const fields of wrong) {
    assert.throws(() => sender.submit([note(1), Object.assign(note(2), fields)]), RangeError, JSON.stringify(fields));
  }
  assert.throws(() => sender.submit([null]), TypeError);
  assert.throws(() => sender.submit());
  assert.throws(() => sender.submitTo(note(), ["00ff", "00"], 0), RangeError);
  assert.strictEqual(sender.counts().taken, 0);
  const longest = { tag: 1, payload: "x".repeat(65535), token: "00".repeat(100) };
  assert.strictEqual(sender.submit([longest]), 1);
  assert.strictEqual(sender.submit([]), 0);
  sender.free();
});

test("one notification goes to many devices", async () => {
  const sender = echo();
  const tokens = Array.from({ length: 5000 }, (_, i) => (i % 2 ? "00ff" : Buffer.from("bad0", "hex")));
  assert.strictEqual(sender.submitTo(note(), tokens, 2 ** 40), 4096);
  assert.strictEqual(sender.submitTo(note(), tokens, 2 ** 40 + 4096, 4096), 904);
  assert.strictEqual(sender.submitTo(note(), [], 0), 0);
  const told = await outcomes(sender, 5000);
  for (const { tag, outcome } of told) assert.strictEqual(outcome, (tag - 2 ** 40) % 2 ? "accepted" : "rejected");
  assert.strictEqual(new Set(told.map(({ tag }) => tag)).size, 5000);
  sender.free();
});

test("a full queue takes a part, and tells when there is room", async () => {
  const sender = echo({ queueLimit: 10 });
  const batch = Array.from({ length: 25 }, (_, i) => note(i));
  assert.strictEqual(sender.submit(batch.slice(0, 20)), 20);
  assert.strictEqual(sender.submit(batch, 20), 0);
  assert.strictEqual(await sender.wait(1) & ferry.READY.ROOM, 0);
  assert.strictEqual(sender.read().length, 20);
  assert.strictEqual(await sender.wait(1) & ferry.READY.ROOM, ferry.READY.ROOM);
  assert.strictEqual(sender.submit(batch, 20), 5);
  assert.strictEqual(sender.waitSync(1), ferry.READY.OUTCOMES | ferry.READY.SETTLED);
  assert.deepStrictEqual(sender.read(3).map(({ tag }) => tag), [20, 21, 22]);
  assert.strictEqual(sender.read().length, 2);
  assert.strictEqual(sender.read().length, 0);
  assert.strictEqual(await sender.wait(0.01), 0);
  assert.strictEqual(sender.waitSync(0.01), 0);
  sender.free();
});

test("a call inside of a call does not mix their records", async () => {
  const sender = echo();
  const payload = { toJSON: () => (sender.submit([note(8, "bad0"), note(9, "bad0")]), {}) };
  sender.submit([note(1), Object.assign(note(2), { payload }), note(3)]);
  const told = await outcomes(sender, 5);
  assert.deepStrictEqual(told.map(({ tag, outcome }) => `${tag} ${outcome}`).sort(),
    ["1 accepted", "2 accepted", "3 accepted", "8 rejected", "9 rejected"]);
  sender.free();
});

test("a closed provider takes nothing, and a freed one is gone", async () => {
  const sender = echo();
  sender.submit([note(1)]);
  assert.strictEqual(await sender.flush(1), 0);
  assert.strictEqual(await sender.drain(1), 0);
  const closing = sender.close(1);
  assert.throws(() => sender.submit([note(2)]), { code: "FERRY_ECLOSED" });
  await closing;
  assert.strictEqual(sender.read().length, 1);
  assert.strictEqual(sender.counts().confirmed, 1);
  assert.strictEqual(sender.report().accepted.confirmed, 1);
  assert(sender.fd > 2);
  while (await sender.wait(0)) sender.read();
  const waiting = sender.wait();
  sender.free();
  sender.free();
  await assert.rejects(waiting, { code: "FERRY_EHANDLE" });
  for (const call of ["read", "counts", "report", "events"]) {
    assert.throws(() => sender[call](), { code: "FERRY_EHANDLE" }, call);
  }
  assert.throws(() => sender.submit([note(1)]), { code: "FERRY_ECLOSED" });
  await assert.rejects(sender.drain(1), { code: "FERRY_EHANDLE" });
  await assert.rejects(sender.close(1), { code: "FERRY_EHANDLE" });
  assert.throws(() => ferry.Provider.prototype.read.call({}), { code: "FERRY_EHANDLE" });
});

test("events come as objects", async () => {
  const simulator = await simulate();
  const sender = provider(simulator, "http2", { events: 100 });
  sender.submit([note(1)]);
  await outcomes(sender, 1);
  await sender.close();
  const names = sender.events().map(({ event }) => event);
  assert.strictEqual(names[0], "connected");
  assert(names.includes("completed") && names.includes("disconnected"), String(names));
});

test("a listener keeps the process until everything was read", async () => {
  const result = await run(`
    const { Provider } = require("ferry-apns");
    const provider = new Provider({ backend: "echo" });
    let count = 0;
    provider.onReady(() => { count += provider.read(7).length; });
    for (let i = 0; i < 100; i++) provider.submit([{ tag: i, token: "00ff", payload: "{}" }]);
    process.on("exit", () => console.log(count));
    new Provider({ backend: "echo" }).wait().then(() => console.log("never"));`);
  assert.deepStrictEqual([result.code, result.output, result.errors], [0, "100\n", ""]);
});

test("a listener that takes nothing does not take the loop for itself", async () => {
  const sender = echo({ queueLimit: 1 });
  let calls = 0;
  sender.onReady(() => {
    calls++;
    if (calls === 1) sender.read();
  });
  sender.submit([note(1), note(2)]);
  const usage = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert(calls >= 2 && calls < 40, `${calls} calls`);
  assert(process.cpuUsage(usage).user < 250000);
  sender.free();
});

test("providers that nobody has any more give their descriptors back", async () => {
  const result = await run(`
    const fs = require("fs");
    const { Provider } = require("ferry-apns");
    const count = () => fs.readdirSync("/proc/self/fd").length;
    (function open() { for (let i = 0; i < 50; i++) new Provider({ backend: "echo" }).onReady(() => {}); })();
    const many = count();
    (function again() {
      global.gc();
      if (count() < many - 80) return console.log("less");
      setTimeout(again, 10);
    })();`, {}, ["--expose-gc"]);
  assert.strictEqual(result.output, "less\n");
});

test("a feedback list is read to its end, and a list that is cut short is an error", async () => {
  const tuple = (_, i) => ({ token: (65536 + i).toString(16).slice(1), time: 1600000000 + i });
  const tuples = Array.from({ length: 1000 }, tuple);
  const script = { feedback: { tuples, fault: "truncates", times: 1 } };
  const simulator = await simulate(script);
  const open = () => new ferry.Feedback({ backend: "auto", host: "localhost", cert: simulator.cert,
    config: simulator.config("binary") });
  const list = open();
  const read = [];
  await assert.rejects(async () => {
    for (let entries; (entries = await list.read());) read.push(...entries);
  }, { code: "FERRY_EPEER" });
  assert.strictEqual(read.length, 999);
  assert.deepStrictEqual([read[7].token.toString("hex"), read[7].time], ["0007", 1600000007]);
  list.free();
  const empty = open();
  assert.strictEqual(await empty.read(), null);
  empty.free();
  await assert.rejects(empty.read(), { code: "FERRY_EHANDLE" });
  const apple = { backend: "auto", host: "feedback.push.apple.com" };
  assert.throws(() => new ferry.Feedback(apple), { code: "FERRY_EOPTIONS" });
});

test("the file of gone devices is a feedback list", async () => {
  const simulator = await simulate({ http2: { rules: [{ prefix: "909e", status: 410, timestamp: 1600000000000 }] } });
  const feedback = file();
  const sender = provider(simulator, "http2", { feedback });
  sender.submit([note(1, "909e01"), note(2)]);
  await outcomes(sender, 2);
  await sender.close();
  const list = new ferry.Feedback({ feedback });
  const [{ token, time }] = await list.read();
  assert.deepStrictEqual([token.toString("hex"), time], ["909e01", 1600000000]);
  assert.strictEqual(await list.read(), null);
  assert(!fs.existsSync(feedback));
});

test("nothing of the library is bound to Node's OpenSSL and nghttp2", async () => {
  const simulator = await simulate();
  const log = file();
  const result = await run(`
    const { Provider } = require("ferry-apns");
    const provider = new Provider(JSON.parse(process.env.OPTIONS));
    provider.submit([{ tag: 1, token: "00ff", payload: "{}" }]);
    provider.drain(5).then(() => console.log(provider.read()[0].outcome));`, {
    LD_DEBUG: "bindings", LD_DEBUG_OUTPUT: log, OPTIONS: JSON.stringify({ backend: "auto", host: "localhost",
      cert: simulator.cert, config: simulator.config("http2") }) });
  assert.strictEqual(result.output, "accepted\n", result.errors);
  const name = `${log}.${result.process.pid}`;
  const own = fs.readFileSync(name, "utf8").split("\n")
    .filter((line) => /binding file \S*lib(ferry|ssl|crypto|nghttp2)\S* /.test(line));
  assert(own.length > 400, `${own.length} bindings`);
  assert.deepStrictEqual(own.filter((line) => / to \S*node\S* \[/.test(line)), []);
});

test("a missing library, an old one and a missing addon are one sentence each", async () => {
  const missing = await run('require("ferry-apns")', { FERRY_LIBRARY: "/nowhere/libferry.so.0" });
  assert(missing.errors.includes("Install it, or set FERRY_LIBRARY to its libferry.so.0."), missing.errors);
  const old = await run('require("ferry-apns")', { FERRY_LIBRARY: "libm.so.6" });
  assert(old.errors.includes("libm.so.6 has no ferry_version: it is of an older version"), old.errors);
  const code = fs.readFileSync(require.resolve("../ferry-apns"), "utf8")
    .replace("./numbers", require.resolve("../ferry-apns/numbers"));
  const unbuilt = await run(code);
  assert(unbuilt.errors.includes("The addon of ferry is not built"), unbuilt.errors);
});

test("an environment that changed does not matter to the library", async () => {
  const result = await run(`
    for (let i = 0; i < 500; i++) process.env["CHANGED_" + i] = "x".repeat(100);
    const { Provider } = require("ferry-apns");
    for (let i = 0; i < 500; i++) delete process.env["CHANGED_" + i];
    for (let i = 0; i < 900; i++) process.env["OTHER_" + i] = "x".repeat(100);
    const provider = new Provider({ backend: "echo" });
    provider.submit([{ tag: 1, token: "00ff", payload: "{}" }]);
    console.log(provider.waitSync(1), require("child_process").execSync("echo $OTHER_7 | wc -c").toString().trim());`);
  assert.strictEqual(result.output, "9 101\n", result.errors);
});

test("the bench counts", async () => {
  const bench = JSON.stringify(require.resolve("../bench"));
  const result = await run(`process.argv.push('{"backend":"echo"}', "10000"); require(${bench});`);
  assert.strictEqual(JSON.parse(result.output).accepted, 10000, result.errors);
});
