import FerryCore
import FerryHTTP2
import NIOCore
import Testing

@Suite struct ChannelAnswerTests {
    private static let id = ChannelRehearsal.channel

    private static func answered(
        _ operation: ChannelOperation,
        _ status: Int,
        _ fields: [(StaticString, String)] = [],
        _ body: String = "",
        step: Int = .max
    ) throws -> ChannelRehearsal {
        let apns = ChannelRehearsal()
        apns.step = step
        apns.submit(operation)
        try apns.exchange()
        try apns.answer(status: status, fields, body: body)
        return apns
    }

    @Test func `201 with a channel is a creation`() throws {
        let apns = try Self.answered(.create(.noMessageStored), 201, [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")])
        #expect(try apns.success() == .created(Self.id))
    }

    @Test func `200 with both keys is a channel`() throws {
        let body = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
        let apns = try Self.answered(.read(Self.id), 200, [], body)
        let channel = BroadcastChannel(id: Self.id, storagePolicy: .mostRecentMessageStored, pushType: "LiveActivity")
        #expect(try apns.success() == .read(channel))
    }

    @Test func `204 is a deletion`() throws {
        #expect(try Self.answered(.delete(Self.id), 204).success() == .deleted)
    }

    @Test(arguments: [1, 7, Int.max]) func `200 with channels is a list, however its bytes are split`(step: Int) throws
    {
        let body = #" { "more" : [1,{}], "channels" : [ "YQ==" , "\u0059g==","Yw==" ] } "#
        let apns = try Self.answered(.list, 200, [], body, step: step)
        let ids = ["YQ==", "Yg==", "Yw=="].compactMap(ChannelID.init(rawValue:))
        #expect(try apns.success() == .listed(ids))
    }

    @Test func `A list may be empty`() throws {
        #expect(try Self.answered(.list, 200, [], #"{"channels":[]}"#).success() == .listed([]))
    }

    @Test(
        arguments: [
            "", "{}", "[]", #"{"channels":null}"#, #"{"channels":{}}"#, #"{"channels":["YQ==",1]}"#,
            #"{"channels":["YQ==",""]}"#, #"{"channels":["a b"]}"#, #"{"channels":["YQ=="#, #"{"channels":["YQ=="]} x"#,
            #"{"channels":[["YQ=="]]}"#,
        ]
    )
    func `A list that is none is an error, and never a shorter list`(body: String) throws {
        let error = try Self.answered(.list, 200, [], body).failure()
        #expect(error.code == .invalidAnswer)
        #expect(!error.mayHaveTakenEffect)
    }

    @Test(arguments: ["", "{}", #"{"message-storage-policy":1}"#, #"{"push-type":"LiveActivity"}"#, "nonsense"])
    func `A channel without its keys is an error`(body: String) throws {
        #expect(try Self.answered(.read(Self.id), 200, [], body).failure().code == .invalidAnswer)
    }

    @Test func `A creation without a usable channel has made one that only the list knows`() throws {
        for fields in [[], [("apns-channel-id", "not Base64!")]] as [[(StaticString, String)]] {
            let error = try Self.answered(.create(.noMessageStored), 201, fields).failure()
            #expect(error.code == .invalidAnswer)
            #expect(error.mayHaveTakenEffect)
            #expect(error.message.contains("list the channels"))
        }
    }

    @Test(arguments: [200, 202, 204, 299]) func `Another success than 201 may be a creation`(status: Int) throws {
        let error = try Self.answered(.create(.noMessageStored), status).failure()
        #expect(error.code == .invalidAnswer)
        #expect(error.mayHaveTakenEffect)
    }

    @Test(arguments: [302, 600]) func `A status that APNs does not have is no refusal`(status: Int) throws {
        let error = try Self.answered(.delete(Self.id), status).failure()
        #expect(error.code == .invalidAnswer)
        #expect(!error.mayHaveTakenEffect)
    }

    @Test func `The request's name in an error is that of the answer`() throws {
        let name = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
        let answered = try Self.answered(.list, 500, [("apns-request-id", name)]).failure()
        #expect(answered.requestID?.description == name)
        let silent = ChannelRehearsal()
        silent.submit(.list, requestID: try APNSID(name))
        try silent.pass(.seconds(31))
        #expect(try silent.failure().requestID?.description == name)
    }

    // MARK: Long lists

    private static func list(_ count: Int, length: Int) -> (ids: [ChannelID], body: String) {
        let ids = (0..<count).compactMap { number in
            let digits = "\(number)"
            return ChannelID(rawValue: String(repeating: "A", count: length - digits.count) + digits)
        }
        return (ids, #"{"channels":[\#(ids.map { #""\#($0)""# }.joined(separator: ","))]}"#)
    }

    @Test(arguments: [24, 255]) func `10,000 channels come through, in answers larger than the windows`(length: Int)
        throws
    {
        let (ids, body) = Self.list(10_000, length: length)
        #expect(body.utf8.count > 256 << 10)
        let apns = try Self.answered(.list, 200, [], body, step: 1000)
        #expect(try apns.success() == .listed(ids))
    }

    @Test func `A list beyond the limit is one clear error, and the connection stays of use`() throws {
        let apns = ChannelRehearsal(listLimit: 20_000)
        apns.submit(.list)
        try apns.exchange()
        try apns.answer(status: 200, body: Self.list(1000, length: 24).body)
        let error = try apns.failure()
        #expect(error.code == .answerTooLong)
        #expect(error.message.contains("20000 bytes"))
        apns.submit(.read(Self.id))
        try apns.exchange()
        try apns.answer(status: 404)
        #expect(try apns.failure().status == 404)
        #expect(apns.dials == 1)
    }

    @Test func `A failure with an endless body ends, too`() throws {
        let apns = try Self.answered(.delete(Self.id), 400, [], String(repeating: "x", count: 100_000))
        let error = try apns.failure()
        #expect(error.reason == .unknown)
        #expect(error.status == 400)
    }
}
