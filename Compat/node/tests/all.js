"use strict";

const { main } = require("./harness");

require("./ferry");
require("./notification");
require("./apn");
require("./feedback");
require("./process");
main();
