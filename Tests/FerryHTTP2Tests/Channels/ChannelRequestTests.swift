import FerryCore
import FerryHTTP2
import Testing

/// The table "channels" of Apple's page, row by row.
@Suite struct ChannelRequestTests {
    private static let requestID = "eabeae54-14a8-11e5-b60b-1697f925ec7b"

    private static func request(
        _ operation: ChannelOperation,
        usesTokens: Bool = true
    ) throws -> ChannelRehearsal.Request {
        let apns = ChannelRehearsal(usesTokens: usesTokens)
        apns.submit(operation, requestID: try APNSID(self.requestID))
        try apns.exchange()
        #expect(apns.requests.count == 1)
        return try #require(apns.requests.first)
    }

    private static let usual = [
        ":scheme": "https", ":authority": "localhost:2196", "authorization": "bearer t1",
        "apns-request-id": requestID,
    ]

    @Test(arguments: [0, 1]) func `A creation is a POST with policy and push type`(policy: Int) throws {
        let request = try Self.request(.create(MessageStoragePolicy(rawValue: policy)))
        let own = [":method": "POST", ":path": "/1/apps/com.example.ferry/channels"]
        #expect(request.fields == Self.usual.merging(own) { $1 })
        #expect(request.body == #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
    }

    @Test func `A reading is a GET with the channel`() throws {
        let request = try Self.request(.read(ChannelRehearsal.channel))
        let own = [
            ":method": "GET", ":path": "/1/apps/com.example.ferry/channels",
            "apns-channel-id": "dHN0LXNyY2gtY2hubA==",
        ]
        #expect(request.fields == Self.usual.merging(own) { $1 })
        #expect(request.body == "")
    }

    @Test func `A deletion is a DELETE with the channel`() throws {
        let request = try Self.request(.delete(ChannelRehearsal.channel))
        let own = [
            ":method": "DELETE", ":path": "/1/apps/com.example.ferry/channels",
            "apns-channel-id": "dHN0LXNyY2gtY2hubA==",
        ]
        #expect(request.fields == Self.usual.merging(own) { $1 })
        #expect(request.body == "")
    }

    @Test func `A list is a GET of all channels`() throws {
        let request = try Self.request(.list)
        let own = [":method": "GET", ":path": "/1/apps/com.example.ferry/all-channels"]
        #expect(request.fields == Self.usual.merging(own) { $1 })
        #expect(request.body == "")
    }

    @Test func `With a certificate there is no provider token`() throws {
        for operation in ChannelRehearsal.operations {
            #expect(try Self.request(operation, usesTokens: false).fields["authorization"] == nil)
        }
    }

    @Test(arguments: ["com.example.app", "a", "A-1_b.c", String(repeating: "a", count: 255)])
    func `A bundle ID fits into the path`(text: String) {
        #expect(ChannelRequestFields.isBundleID(text))
    }

    @Test(arguments: ["", "a/b", "a b", "a?b", "a#b", "a%2f", "ä", "a\r\nb", String(repeating: "a", count: 256)])
    func `Other text would change the path, and is none`(text: String) {
        #expect(!ChannelRequestFields.isBundleID(text))
    }
}
