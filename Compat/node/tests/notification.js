"use strict";

// The classes Notification and Device of `apn`.

const assert = require("assert");
const apn = require("../apn");
const { test } = require("./harness");

const json = (build, payload) => {
  const note = new apn.Notification(payload);
  build(note);
  return note.compile();
};

test("fields go into aps", () => {
  const table = [
    ['{}', () => {}],
    ['{"a":1}', (note) => (note.payload = { a: 1 })],
    ['{"aps":{"badge":0}}', (note) => (note.badge = 0)],
    ['{"aps":{"badge":null}}', (note) => (note.badge = NaN)],
    ['{}', (note) => (note.badge = "3")],
    ['{}', (note) => (note.alert = "")],
    ['{}', (note) => (note.alert = null)],
    ['{}', (note) => (note.alert = 5)],
    ['{"aps":{"alert":{"body":"x"}}}', (note) => (note.alert = { body: "x" })],
    ['{"aps":{"sound":"s","alert":"x","content-available":1,"mutable-content":1,"url-args":["a"],"category":"c"}}',
      (note) => Object.assign(note, { category: "c", urlArgs: ["a"], mutableContent: true, newsstandAvailable: 1,
        alert: "x", sound: "s" })],
    ['{}', (note) => note.setContentAvailable("true").setMutableContent(0).setUrlArgs("x").setCategory({}).setSound(5)],
    ['{"mdm":"m"}', (note) => note.setMDM("m").setBadge(3)],
    ['{"aps":{"badge":1}}', (note) => note.setMDM(5).setBadge(1)],
    ['{"aps":{"alert":{"body":"x","title":"t","action":"a"}}}', (note) =>
      note.setAlertText("x").setAlertTitle("t").setAlertAction("a")],
    ['{"aps":{"alert":{"title":"t","body":"x"}}}', (note) => note.setAlertTitle("t").setAlertText("x")],
    ['{"aps":{"alert":{"title-loc-key":"k","title-loc-args":["a"],"action-loc-key":"b","loc-key":"c",' +
      '"loc-args":["d"],"launch-image":"i"}}}', (note) => note.setTitleLocKey("k").setTitleLocArgs(["a"])
      .setActionLocKey("b").setLocKey("c").setLocArgs(["d"]).setLaunchImage("i")],
    ['{"aps":{"alert":{}}}', (note) => note.setLocKey("c").setLocArgs([1]).setLaunchImage("i").setLocKey().setLocArgs()
      .setLaunchImage()],
  ];
  for (const [expected, build] of table) assert.strictEqual(json(build), expected);
  assert.strictEqual(json((note) => (note.alert = "x"), { aps: { custom: 1, alert: "y" }, b: 2 }),
    '{"aps":{"custom":1,"alert":"x"},"b":2}');
});

test("compiling changes nothing, and what is cleared is gone", () => {
  const payload = { a: 1 };
  const one = new apn.Notification(payload);
  const other = new apn.Notification(payload);
  one.alert = "one";
  one.compile();
  assert.strictEqual(other.compile(), '{"a":1}');
  one.alert = undefined;
  assert.strictEqual(one.compile(), '{"a":1}');
  one.setAlertTitle("t").compile();
  assert.strictEqual(one.setAlertTitle("u").compile(), '{"a":1,"aps":{"alert":{"title":"u"}}}');
  const alert = { body: "x" };
  one.alert = alert;
  one.setAlertText("y");
  assert.deepStrictEqual([alert.body, one.getAlertText()], ["x", "y"]);
  const clone = one.clone("device");
  clone.badge = 3;
  assert.deepStrictEqual([clone.device, clone.getAlertText(), one.badge], ["device", "y", undefined]);
});

test("length counts bytes, and trim shortens the text to whole characters", () => {
  const trim = (text, length, fields) => {
    const note = Object.assign(new apn.Notification(), fields);
    note.alert = text;
    return [note.trim(length), note.getAlertText(), note.length()];
  };
  assert.deepStrictEqual(trim("Hello", 100), [0, "Hello", 25]);
  assert.deepStrictEqual(trim("Hello", 23), [2, "Hel", 23]);
  assert.deepStrictEqual(trim("Test💣", 25), [4, "Test", 24]);
  assert.deepStrictEqual(trim("\n\n\n", 24), [2, "\n\n", 24]);
  assert.deepStrictEqual(trim("test\\ message", 25), [10, "test", 24]);
  assert.deepStrictEqual(trim("\u0006\u0007", 29), [6, "\u0006", 26]);
  assert.deepStrictEqual(trim({ title: "t", body: "Hello" }, 46), [0, "Hello", 46]);
  assert.deepStrictEqual(trim({ title: "t", body: "Hello" }, 44), [2, "Hel", 44]);
  assert.deepStrictEqual(trim("x".repeat(3000)).slice(0, 1).concat(trim("x".repeat(3000))[2]), [972, 2048]);
  assert.deepStrictEqual(trim("x", 10, { payload: { large: "x".repeat(50) } })[0], -71);
  assert.deepStrictEqual(trim("this is a test payload", 39, { truncateAtWordEnd: true })[1], "this is a test");
  assert.deepStrictEqual(trim("this is a test payload", 34, { truncateAtWordEnd: true })[1], "this is a test");
  assert.deepStrictEqual(trim("this_is_a_test", 30, { truncateAtWordEnd: true })[1], "this_is_a_");
  assert.deepStrictEqual(trim("test message", 48, { encoding: "utf16le" }), [16, "test", 48]);
  const note = new apn.Notification({ large: "x".repeat(50) });
  assert.strictEqual(note.trim(40), -22);
});

test("a device is a Buffer or hexadecimal digits, and nothing else", () => {
  const bytes = Buffer.from("00ff", "hex");
  const device = new apn.Device(bytes);
  bytes[0] = 1;
  assert.strictEqual(device.toString("hex"), "00ff");
  assert.strictEqual(apn.Device(" <00FF aa\n>").toString(), "00ffaa");
  for (const wrong of ["", "<>", "0", "012", "0x00", "zz", "<insert token here>", 5, null, undefined, {}, [],
    Buffer.alloc(0), device]) {
    assert.throws(() => new apn.Device(wrong), /device token/, String(wrong));
  }
});
