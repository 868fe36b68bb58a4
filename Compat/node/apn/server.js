"use strict";

const fs = require("fs");
const ferry = require("./ferry");

const PEM = /-----BEGIN /;

/** The options, with the defaults of connections and feedback alike, and with others. One that is undefined is none. */
function merged(options, defaults) {
  const result = Object.assign({ cert: "cert.pem", key: "key.pem", ca: null, pfx: null, passphrase: null,
    production: process.env.NODE_ENV === "production", address: null, rejectUnauthorized: true }, defaults);
  for (const name of Object.keys(options || {})) if (options[name] !== undefined) result[name] = options[name];
  if (result.pfx || result.pfxData) {
    // Then nobody looks for cert.pem and key.pem.
    result.cert = options.cert || null;
    result.key = options.key || null;
  }
  return result;
}

/** Names the server of options that have `address` or `production`. */
function chooseAddress(options, service) {
  if (options.address) options.production = options.address === `${service}.push.apple.com`;
  else options.address = options.production ? `${service}.push.apple.com` : `${service}.sandbox.push.apple.com`;
}

/** Calls `open` with libferry's options for server and credentials. The file of FERRY_CONFIG may replace them. */
function withServer(options, open) {
  const files = [];
  const isName = (value) => typeof value === "string" && !PEM.test(value);
  // The library takes names of files. What is here as bytes gets a name for as long as it reads it.
  const path = (value) => {
    if (!value) return undefined;
    if (isName(value)) return value;
    const file = ferry.memory(Buffer.from(value));
    if (file < 0) throw new Error("There is no memory or no descriptor for the credentials.");
    files.push(file);
    return `/proc/self/fd/${file}`;
  };
  const text = (value) => (isName(value) ? fs.readFileSync(value, "utf8") : String(value));
  const joined = (values) => (values.length > 1 ? values.map(text).join("\n") : values[0]);
  try {
    const pfx = path(options.pfx || options.pfxData);
    return open({
      backend: "auto",
      host: options.address,
      port: Number(options.port),
      pfx,
      cert: pfx ? undefined : path(options.cert || options.certData),
      key: pfx ? undefined : path(options.key || options.keyData),
      passphrase: options.passphrase === null ? undefined : options.passphrase,
      ca: path(Array.isArray(options.ca) ? joined(options.ca) : options.ca),
      rejectUnauthorized: options.rejectUnauthorized === false ? false : undefined,
      config: process.env.FERRY_CONFIG || undefined,
    });
  } finally {
    files.forEach((file) => fs.closeSync(file));
  }
}

module.exports = { chooseAddress, merged, withServer };
