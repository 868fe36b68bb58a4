"use strict";

// Sends one notification in one call: send.js TOKEN OPTIONS. OPTIONS is JSON.
const ferry = require("ferry-apns");

const [token, options] = process.argv.slice(2);
ferry.push(token, { aps: { alert: "Hello" } }, JSON.parse(options)).then((answer) => console.log(String(answer)));
