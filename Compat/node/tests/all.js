"use strict";

const { main } = require("./harness");

require("./ferry");
require("./push");
require("./notification");
require("./apn");
require("./feedback");
require("./process");
main();
