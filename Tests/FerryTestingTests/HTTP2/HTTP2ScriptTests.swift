internal import FerryCore
internal import FerryTesting
internal import Foundation
internal import Testing

struct HTTP2ScriptTests {
    @Test func `a script of HTTP/2 needs no key, and is under http2 in the gateway's`() throws {
        #expect(try GatewayScript(json: Array("{}".utf8)).http2 == HTTP2Script())
        #expect(try GatewayScript(json: Array(#"{"http2":{}}"#.utf8)).http2 == HTTP2Script())
    }

    @Test func `a script of HTTP/2 has every documented key`() throws {
        let text = """
            {"http2": {
              "handshake": "silent", "maxConcurrentStreams": 7, "coldStart": false, "requiresToken": false,
              "topics": ["com.example.ferry"], "tokenUpdateSeconds": 2, "answerDelaySeconds": 0.25,
              "payloadLimit": 256, "uniqueId": true,
              "rules": [
                {"tokens": ["00FF", "aa"], "status": 410, "timestamp": 1700000000000, "times": 3},
                {"prefix": "bad0", "at": 7, "reason": "TooManyRequests", "retryAfterSeconds": 9, "delaySeconds": 2},
                {"after": 0, "action": "stopReading"},
                {"every": 10, "action": "goAway", "lastStream": "current", "errorCode": 11, "reason": "Shutdown",
                 "closes": false},
                {"after": 5, "action": "settings", "maxConcurrentStreams": 1},
                {"after": 6, "action": "slowWindow", "windowBytes": 1, "holdSeconds": 0.5},
                {"at": 1, "action": "refuseStream"}, {"at": 2, "action": "resetAfterHeaders"},
                {"at": 3, "action": "silence"}, {"at": 4, "action": "earlyAnswer"}, {"at": 5, "action": "close"},
                {"at": 6, "action": "reset"},
                {"channels": ["create", "list"], "action": "loseAnswer"}
              ]
            }}
            """
        var expected = HTTP2Script(rules: [
            HTTP2Rule(
                tokens: [DeviceToken(unchecked: [0, 255]), DeviceToken(unchecked: [0xaa])],
                times: 3,
                status: 410,
                timestamp: Date(timeIntervalSince1970: 1_700_000_000)
            ),
            HTTP2Rule(prefix: [0xba, 0xd0], at: 7, reason: .tooManyRequests, retryAfter: 9, delay: .seconds(2)),
            .end(by: .stopReading, after: 0),
            HTTP2Rule(
                every: 10,
                action: .goAway,
                reason: .shutdown,
                lastStream: .current,
                errorCode: 11,
                closes: false
            ),
            HTTP2Rule(after: 5, action: .settings, maxConcurrentStreams: 1),
            HTTP2Rule(after: 6, action: .slowWindow, windowBytes: 1, hold: .milliseconds(500)),
            HTTP2Rule(at: 1, action: .refuseStream), HTTP2Rule(at: 2, action: .resetAfterHeaders),
            HTTP2Rule(at: 3, action: .silence), HTTP2Rule(at: 4, action: .earlyAnswer),
            HTTP2Rule(at: 5, action: .close), HTTP2Rule(at: 6, action: .reset),
            HTTP2Rule(channels: [.create, .list], action: .loseAnswer),
        ])
        expected.handshake = .silent
        expected.maxConcurrentStreams = 7
        expected.coldStart = false
        expected.requiresToken = false
        expected.topics = ["com.example.ferry"]
        expected.tokenUpdateInterval = .seconds(2)
        expected.answerDelay = .milliseconds(250)
        expected.payloadLimit = 256
        expected.hasUniqueID = true
        let script = try GatewayScript(json: Array(text.utf8))
        #expect(script.http2 == expected)
        #expect(try GatewayScript(json: JSONEncoder().encode(script)) == script)
    }

    @Test(
        arguments: [
            (#"{"rulez": []}"#, "'rulez'"),
            (#"{"payloadLimit": 0}"#, "payloadLimit"),
            (#"{"maxConcurrentStreams": -1}"#, "maxConcurrentStreams"),
            (#"{"answerDelaySeconds": -1}"#, "answerDelaySeconds"),
            (#"{"rules": [{"token": "aa"}]}"#, "'token'"),
            (#"{"rules": [{"status": 400}]}"#, "after"),
            (#"{"rules": [{"after": 1, "every": 1}]}"#, "after"),
            (#"{"rules": [{"every": 1, "at": 1}]}"#, "after"),
            (#"{"rules": [{"every": 0}]}"#, "every"),
            (#"{"rules": [{"at": 0}]}"#, "at"),
            (#"{"rules": [{"at": 1, "status": 100}]}"#, "status"),
            (#"{"rules": [{"at": 1, "action": "settings"}]}"#, "maxConcurrentStreams"),
            (#"{"rules": [{"at": 1, "maxConcurrentStreams": 1}]}"#, "maxConcurrentStreams"),
            (#"{"rules": [{"at": 1, "windowBytes": -1}]}"#, "windowBytes"),
            (#"{"rules": [{"at": 1, "retryAfterSeconds": -1}]}"#, "retryAfterSeconds"),
            (#"{"rules": [{"at": 1, "action": "respnd"}]}"#, "not 'respnd'"),
            (
                #"{"rules": [{"at": 1, "action": "goaway"}]}"#,
                "refuseStream, resetAfterHeaders, loseAnswer, silence, goAway, settings"
            ),
            (#"{"rules": [{"channels": ["made"]}]}"#, "'channels' is a list of create, read, delete, list, broadcast."),
            (#"{"rules": [{"channels": "create"}]}"#, "'channels' is a list of create, read, delete, list, broadcast."),
            (#"{"rules": [{"at": 1, "status": 1e99}]}"#, "'status' is a whole number, 200 to 599."),
            (#"{"rules": [{"at": 1, "lastStream": 3}]}"#, "'lastStream' is one of none, current, all."),
            (#"{"rules": [{"refused": 3, "status": 400}]}"#, "needs an action on the connection"),
            (#"{"rules": [{"status": 400}]}"#, "A rule says when it holds: by 'after', 'every' or 'refused' alone"),
        ]
    )
    func `a faulty script is refused with the name of the fault`(_ text: String, _ name: String) {
        do {
            _ = try GatewayScript(json: Array(#"{"http2": \#(text)}"#.utf8))
            Issue.record("accepted")
        } catch let DecodingError.dataCorrupted(context) {
            #expect(context.debugDescription.contains(name))
        } catch {
            Issue.record(error)
        }
    }
}
