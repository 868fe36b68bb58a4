internal import FerryCore
internal import FerryTesting
internal import Foundation
internal import Testing

struct GatewayScriptTests {
    @Test func `a script of the gateway needs no key`() throws {
        #expect(try GatewayScript(json: Array("{}".utf8)) == GatewayScript())
    }

    @Test func `a script of the gateway has every documented key`() throws {
        let text = """
            {
              "handshake": "refuseClient", "payloadLimit": 256, "errorDelaySeconds": 0.25, "keepsOpen": true,
              "lingerSeconds": 1, "bytesPerSecond": 4096,
              "rules": [
                {"tokens": ["00FF", "aa"], "times": 3},
                {"prefix": "bad0", "at": 7, "status": 5, "identifier": 0, "length": 3, "delaySeconds": 2},
                {"after": 0, "action": "stopReading"},
                {"after": 10, "status": 10, "bytes": "15"}
              ]
            }
            """
        var expected = GatewayScript(rules: [
            GatewayRule(tokens: [DeviceToken(unchecked: [0, 255]), DeviceToken(unchecked: [0xaa])], times: 3),
            GatewayRule(prefix: [0xba, 0xd0], at: 7, status: 5, identifier: 0, length: 3, delay: .seconds(2)),
            .end(by: .stopReading, after: 0),
            GatewayRule(after: 10, status: 10, bytes: [0x15]),
        ])
        expected.handshake = .refuseClient
        expected.payloadLimit = 256
        expected.errorDelay = .milliseconds(250)
        expected.keepsOpen = true
        expected.linger = .seconds(1)
        expected.bytesPerSecond = 4096
        let script = try GatewayScript(json: Array(text.utf8))
        #expect(script == expected)
        #expect(try GatewayScript(json: JSONEncoder().encode(script)) == expected)
    }

    @Test(arguments: ["0.1", "1e-9", "46800.3", "86400"])
    func `a script keeps its delays to the nanosecond when it is written and read again`(_ seconds: String) throws {
        let script = try GatewayScript(json: Array(#"{"errorDelaySeconds": \#(seconds)}"#.utf8))
        #expect(try GatewayScript(json: JSONEncoder().encode(script)) == script)
        #expect(script.errorDelay.components.attoseconds.isMultiple(of: 1_000_000_000))
    }

    @Test(
        arguments: [
            (#"{"rulez": []}"#, "rulez"),
            (#"{"rules": [{"token": "aa"}]}"#, "'token'"),
            (#"{"rules": [{"status": 8}]}"#, "after"),
            (#"{"rules": [{"after": 1, "at": 1}]}"#, "after"),
            (#"{"rules": [{"at": 0}]}"#, "at"),
            (#"{"rules": [{"prefix": "0"}]}"#, "prefix"),
            (#"{"rules": [{"tokens": ["xx"]}]}"#, "tokens"),
            (#"{"errorDelaySeconds": -1}"#, "errorDelaySeconds"),
            (#"{"bytesPerSecond": 0}"#, "bytesPerSecond"),
            (#"{"payloadLimit": 0}"#, "payloadLimit"),
            (
                #"{"rules": [{"prefix": "00", "status": 410}]}"#,
                "'status' is a whole number, 0 to 255; rules for HTTP/2 stand under 'http2'."
            ),
            (
                #"{"rules": [{"prefix": "00", "status": -1}]}"#,
                "'status' is a whole number, 0 to 255; rules for HTTP/2 stand under 'http2'."
            ),
            (#"{"rules": [{"at": 1.5}]}"#, "'at' is a whole number, at least 1."),
            (#"{"rules": [{"at": 1, "identifier": 4294967296}]}"#, "'identifier' is a whole number, 0 to 4294967295."),
            (#"{"errorDelaySeconds": 1e999}"#, "'errorDelaySeconds' is 0 to 86400 seconds."),
            (
                #"{"rules": [{"at": 1, "action": "goaway"}]}"#,
                "'action' is one of respond, close, reset, stopReading, gone"
            ),
            (#"{"handshake": "slow"}"#, "'handshake' is one of normal, silent, refuseClient, not 'slow'."),
            (#"{"rules": [{"status": 8}]}"#, "A rule says when it holds: by 'after' alone, or by some of 'tokens'"),
            (#"{"feedback": {"tuples": [{"token": "aa", "time": -1}]}}"#, "'time' is a whole number, 0 to 4294967295."),
            (#"{"feedback": {"tuples": [{"token": "aa"}]}}"#, "'time' is missing."),
            (#"{"feedback": {"fault": "none"}}"#, "'fault' is one of neverCloses"),
        ]
    )
    func `a faulty script is refused with the name of the fault`(_ text: String, _ name: String) {
        do {
            _ = try GatewayScript(json: Array(text.utf8))
            Issue.record("accepted")
        } catch let DecodingError.dataCorrupted(context) {
            #expect(context.debugDescription.contains(name))
        } catch {
            Issue.record(error)
        }
    }
}
