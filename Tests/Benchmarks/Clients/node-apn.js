// Sends with node-apn, as @parse/node-apn or as apn. README.md has the contract.
'use strict';
const { performance } = require('node:perf_hooks');

const environment = process.env;
const number = (name, otherwise) => Number(environment[name] ?? otherwise);
const count = number('COUNT', 0);
const warmUp = number('WARM_UP', 0);
const atOnce = number('AT_ONCE', 1);
const connections = number('CONNECTIONS', 1);
const run = number('RUN', 0);

// Returns a device token that no other notification of any run has.
const token = (place) => run.toString(16).padStart(8, '0') + place.toString(16).padStart(56, '0');

function load() {
  for (const name of ['@parse/node-apn', 'apn']) {
    try {
      return { name, apn: require(name), version: require(`${name}/package.json`).version };
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  console.error('Neither @parse/node-apn nor apn is on NODE_PATH.');
  process.exit(1);
}

function connect(apn) {
  const options = {
    token: { key: environment.APNS_KEY, keyId: environment.APNS_KEY_ID, teamId: environment.APNS_TEAM_ID },
    ca: [environment.APNS_CA],
    address: environment.APNS_HOST,
    port: number('APNS_PORT', 443),
  };
  return connections === 1
    ? new apn.Provider(options)
    : new apn.MultiProvider({ ...options, clientCount: connections });
}

// Sends the notifications from `first` to before `end`, and returns how many were accepted.
async function send(provider, notification, first, end, latencies) {
  let next = first;
  let accepted = 0;
  async function work() {
    while (next < end) {
      const start = performance.now();
      const { sent } = await provider.send(notification, token(next++));
      latencies.push(performance.now() - start);
      accepted += sent.length;
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  return accepted;
}

async function main() {
  const { name, apn, version } = load();
  if (count === 0) {
    console.log(JSON.stringify({ client: name, version }));
    return;
  }
  const provider = connect(apn);
  const notification = new apn.Notification({ alert: 'Hello', topic: environment.APNS_TOPIC, pushType: 'alert' });
  await send(provider, notification, 0, warmUp, []);

  const latencies = [];
  const wall = performance.now();
  const processor = process.cpuUsage();
  const accepted = await send(provider, notification, warmUp, warmUp + count, latencies);
  const seconds = (performance.now() - wall) / 1000;
  const { user, system } = process.cpuUsage(processor);
  await provider.shutdown();

  latencies.sort((a, b) => a - b);
  const rank = (share) => latencies[Math.floor(share * (latencies.length - 1))];
  const rounded = (value) => Number(value.toFixed(3));
  const figures = {
    client: name,
    version,
    settings: `${atOnce} at once, ${connections} connection${connections === 1 ? '' : 's'}`,
    count,
    warmUp,
    accepted,
    seconds: rounded(seconds),
    perSecond: Math.round(count / seconds),
    p50ms: rounded(rank(0.5)),
    p99ms: rounded(rank(0.99)),
    cpuSeconds: rounded((user + system) / 1e6),
  };
  console.log(JSON.stringify(figures));
  process.exitCode = accepted === count ? 0 : 1;
}

main();
