"use strict";

// The names of node-apn 1.7.8, over libferry. README.md has what differs.

exports.Connection = exports.connection = require("./connection");
exports.Device = exports.device = require("./device");
exports.Errors = exports.error = require("./errors");
exports.Feedback = exports.feedback = require("./feedback");
exports.Notification = exports.notification = require("./notification");
