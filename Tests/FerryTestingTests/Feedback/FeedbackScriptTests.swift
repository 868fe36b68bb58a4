internal import FerryTesting
internal import Foundation
internal import Testing

struct FeedbackScriptTests {
    @Test func `a script of the feedback service needs no key`() throws {
        #expect(try JSONDecoder().decode(FeedbackScript.self, from: Data("{}".utf8)) == FeedbackScript())
    }

    @Test func `a script has every documented key, in a section of the gateway's`() throws {
        let text = """
            {"feedback": {
              "handshake": "refuseClient", "pieceLength": 3, "fault": "neverCloses", "times": 2,
              "tuples": [{"token": "00FF", "time": 1700000000}, {"token": "", "time": 0}]
            }}
            """
        var expected = FeedbackScript(
            [
                .init(time: Date(timeIntervalSince1970: 1_700_000_000), token: [0, 255]),
                .init(time: Date(timeIntervalSince1970: 0), token: []),
            ],
            fault: .neverCloses,
            times: 2
        )
        expected.handshake = .refuseClient
        expected.pieceLength = 3
        let script = try GatewayScript(json: Array(text.utf8))
        #expect(script.feedback == expected)
        #expect(try GatewayScript(json: JSONEncoder().encode(script)) == script)
    }

    @Test(
        arguments: [
            (#"{"tuple": []}"#, "'tuple'"),
            (#"{"tuples": [{"token": "aa", "time": 1, "at": 2}]}"#, "'at'"),
            (#"{"tuples": [{"token": "a", "time": 1}]}"#, "token"),
            (#"{"tuples": [{"time": 1}]}"#, "token"),
            (#"{"pieceLength": 0}"#, "pieceLength"),
            (#"{"times": -1}"#, "times"),
        ]
    )
    func `a faulty script is refused with the name of the fault`(_ text: String, _ name: String) {
        do {
            _ = try JSONDecoder().decode(FeedbackScript.self, from: Data(text.utf8))
            Issue.record("accepted")
        } catch let DecodingError.dataCorrupted(context) {
            #expect(context.debugDescription.contains(name))
        } catch {
            Issue.record(error)
        }
    }

    private static let tuples = [
        FeedbackScript.Tuple(time: Date(timeIntervalSince1970: 0x0102_0304), token: [9, 8]),
        FeedbackScript.Tuple(time: Date(timeIntervalSince1970: 5), token: []),
    ]
    private static let bytes: [UInt8] = [1, 2, 3, 4, 0, 2, 9, 8, 0, 0, 0, 5, 0, 0]

    @Test(arguments: [1, 3, 14, 100, nil])
    func `a reader gets the documented answer`(_ length: Int?) {
        let answer = FeedbackAnswer(Self.tuples, pieceLength: length, fault: nil)
        #expect(answer.pieces.flatMap(\.self) == Self.bytes)
        #expect(answer.pieces.dropLast().allSatisfy { $0.count == length })
        #expect(answer.ending == .closeNotify)
        #expect(answer.clears)
    }

    @Test(
        arguments: [
            (.neverCloses, 14, .none, true),
            (.closesAtOnce, 0, .closeNotify, false),
            (.truncates, 13, .closeNotify, true),
            (.omitsCloseNotify, 14, .endOfStream, true),
            (.resets, 14, .reset, true),
            (.silent, 0, .none, false),
        ] as [(FeedbackScript.Fault, Int, FeedbackAnswer.Ending, Bool)]
    )
    func `a reader gets the fault of the script`(
        _ fault: FeedbackScript.Fault,
        _ count: Int,
        _ ending: FeedbackAnswer.Ending,
        _ clears: Bool
    ) {
        let answer = FeedbackAnswer(Self.tuples, pieceLength: 5, fault: fault)
        #expect(answer.pieces.flatMap(\.self) == Array(Self.bytes.prefix(count)))
        #expect(answer.ending == ending)
        #expect(answer.clears == clears)
    }
}
