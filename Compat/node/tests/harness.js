"use strict";

// Runs tests one after the other, with simulated servers and with programs in processes of their own.

const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const COMMAND = process.env.FERRY_COMMAND || "ferry";
const FOLDER = path.join(__dirname, "..");
const LIMIT = 30000; // ms for one test

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "ferry-node-"));
const tls = path.join(directory, "tls");
fs.mkdirSync(tls);
const tests = [];
const running = new Set();
let fileCount = 0;

exports.tls = (name) => path.join(tls, name);

exports.file = function (content, ending = "") {
  const name = path.join(directory, `file-${fileCount++}${ending}`);
  if (content !== undefined) fs.writeFileSync(name, content);
  return name;
};

exports.test = (name, body) => tests.push({ name, body });

/** Starts a simulator with a script. */
exports.simulate = async function (script = {}) {
  const record = exports.file("");
  const process = spawn(COMMAND, ["simulate", "--http2", "0", "--binary", "0", "--feedback", "0", "--tls-dir", tls,
    "--script", exports.file(JSON.stringify(script)), "--record", record], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(process);
  let output = "";
  const line = await new Promise((resolve, reject) => {
    process.stderr.on("data", (data) => (output += data));
    process.stdout.on("data", (data) => resolve(String(data)));
    process.on("error", reject);
    process.on("exit", (code) => reject(new Error(`The simulator ended with ${code}: ${output}`)));
  });
  const ports = JSON.parse(line);
  const pem = ["client.pem", "client-key.pem"].map((name) => fs.readFileSync(exports.tls(name), "utf8")).join("");
  return {
    ports,
    cert: exports.file(pem),
    /** A file for FERRY_CONFIG. */
    config(backend, more = {}) {
      const own = backend === "http2" ? { port: ports.http2, topic: "com.example.ferry" }
        : { port: ports.binary, settleTime: 0.2 };
      return exports.file(JSON.stringify(Object.assign({ backend, host: "localhost", feedbackHost: "localhost",
        feedbackPort: ports.feedback, ca: exports.tls("ca.pem") }, own, more)));
    },
    /** Ends the simulator, and returns what it accepted. */
    async stop() {
      const ended = new Promise((resolve) => process.on("exit", resolve));
      process.kill("SIGTERM");
      await ended;
      running.delete(process);
      return fs.readFileSync(record, "utf8").split("\n").filter(Boolean).map((text) => JSON.parse(text));
    },
  };
};

/** Runs a program in a process of its own, and returns how it ended. */
exports.run = function (code, environment = {}, options = []) {
  const script = exports.file(code, ".js");
  const env = Object.assign({}, process.env, { NODE_PATH: FOLDER }, environment);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...options, script], { env, stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    const result = { code: null, signal: null, output: "", errors: "", process: child };
    child.stdout.on("data", (data) => (result.output += data));
    child.stderr.on("data", (data) => (result.errors += data));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve(Object.assign(result, { code, signal }));
    });
  });
};

/** How often something is true, as a promise that looks for it. */
exports.until = async function (isTrue) {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
};

exports.main = async function () {
  const wanted = process.argv[2] || "";
  let passed = 0;
  let failed = 0;
  for (const { name, body } of tests) {
    if (!name.includes(wanted)) continue;
    const start = Date.now();
    let timer;
    const tooLong = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`It took longer than ${LIMIT / 1000} s.`)), LIMIT);
    });
    try {
      await Promise.race([body(), tooLong]);
      passed++;
      if (process.env.VERBOSE) console.log(`ok ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${name}\n${error.stack}`);
    }
    clearTimeout(timer);
    for (const child of running) child.kill("SIGKILL");
    running.clear();
  }
  for (const folder of [tls, directory]) {
    fs.readdirSync(folder).forEach((name) => fs.unlinkSync(path.join(folder, name)));
    fs.rmdirSync(folder);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
};
