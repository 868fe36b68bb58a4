import Foundation
import NIOCore
import Testing

@testable import Ferry
@testable import FerryBinary
@testable import FerryCore
@testable import FerryHTTP2
@testable import FerryMachine
@testable import FerryOpenSSL

/// Compares the tables of options, bounds and deadlines in `Docs` with the code.
///
/// A row is found by a name in backticks, so it may be moved and reworded.
@Suite struct DocumentedFigureTests {
    private static let docs = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../../Docs").standardized

    private static func rows(_ page: String) throws -> [TableRow] {
        TableRow.all(of: page, try String(contentsOf: Self.docs.appending(path: page), encoding: .utf8))
    }

    /// Expects each figure in a row of the page that contains the name.
    private static func expect(_ facts: [String: [String]], in page: String) throws {
        let rows = try Self.rows(page)
        for (name, figures) in facts.sorted(by: { $0.key < $1.key }) {
            let named = rows.filter { $0.names.contains(name[...]) }
            for figure in figures {
                #expect(named.contains { $0.says(figure) }, "\(name) is \(figure), and \(page) says so in no row of it")
            }
        }
    }

    @Test func `what you can set in BinaryOptions has the default that its row says`() throws {
        let options = BinaryOptions()
        try Self.expect(
            [
                "queueLimit": [Figure.count(options.queueLimit)],
                "cacheLimit": [Figure.count(options.cacheLimit.entries), Figure.bytes(options.cacheLimit.bytes)],
                "cacheLimit.entries": [Figure.count(options.cacheLimit.entries)],
                "cacheLength": [Figure.count(options.cacheLength)],
                "payloadLimit": [Figure.count(options.payloadLimit)],
                "maxConnections": [Figure.count(options.maxConnections)],
                "connectionRetryLimit": [Figure.count(try #require(options.connectionRetryLimit))],
                "retryLimit": [Figure.count(options.retryLimit)],
                "connectTimeout": [Figure.time(options.connectTimeout)],
                "settleTime": [Figure.time(options.settleTime)],
                "backOff": [Figure.range(options.backOff), Figure.time(options.backOff.lowerBound)],
                "idleTimeout": [Figure.time(try #require(options.idleTimeout))],
            ],
            in: "how-it-works/semantics.md"
        )
    }

    @Test func `what you can set in HTTP2Options has the default that its row says`() throws {
        let options = HTTP2Options()
        let breaker = try #require(options.circuitBreaker)
        try Self.expect(
            [
                "deadline": [Figure.time(options.deadline)],
                "attemptTimeout": [Figure.time(options.attemptTimeout)],
                "maxConnections": [Figure.count(options.maxConnections)],
                "maxStreams": [Figure.count(options.maxStreams)],
                "queueLimit": [Figure.count(options.queueLimit)],
                "delayLimit": [Figure.count(options.delayLimit)],
                "pingInterval": [Figure.time(options.pingInterval)],
                "idleCheck": [Figure.time(options.idleCheck)],
                "connectTimeout": [Figure.time(options.connectTimeout)],
                "connectionRetryLimit": [Figure.count(try #require(options.connectionRetryLimit))],
                "backOff": [Figure.range(options.backOff)],
                "circuitBreaker": [
                    Figure.count(breaker.threshold), Figure.range(breaker.pause), Figure.count(breaker.trial),
                ],
            ],
            in: "how-it-works/http2.md"
        )
    }

    /// The constants that rows name, by page.
    private static let constants: [String: [String: [String]]] = [
        "how-it-works/semantics.md": [
            "BinaryClient.accountLimit": [Figure.count(BinaryClient.accountLimit)],
            "BinaryClient.stubLimit": [Figure.count(BinaryClient.stubLimit)],
            "BinaryClient.suspicionLimit": [Figure.count(Int(BinaryClient.suspicionLimit))],
            "BinaryClient.spillSize": [Figure.count(BinaryClient.spillSize)],
            "BinaryClient.violationLimit": [Figure.count(BinaryClient.violationLimit)],
            "BinaryClient.wordlessLimit": [Figure.count(BinaryClient.wordlessLimit)],
            "BinaryClient.probeLimit": [Figure.time(BinaryClient.probeLimit)],
            "BinaryClient.automaticProbeLimit": [Figure.time(BinaryClient.automaticProbeLimit)],
            "BinaryClient.idleResponseLimit": [Figure.count(BinaryClient.idleResponseLimit)],
            "BinaryClient.probePause": [Figure.range(BinaryClient.probePause)],
            "BinaryClient.lingerLimit": [Figure.time(BinaryClient.lingerLimit)],
            "Window.floor": [Figure.count(Window.floor)],
            "Isolation.wordlessProofs": [Figure.count(Isolation.wordlessProofs)],
            "Silence.markLimit": [Figure.count(Silence.markLimit)],
            "Silence.looksPerSettleTime": ["settle time ÷ \(Silence.looksPerSettleTime)"],
            "Silence.stallLimit": [Figure.time(Silence.stallLimit)],
            "ErrorDelay.settleTimeCap": [Figure.time(ErrorDelay.settleTimeCap)],
            "ErrorDelay.quietFloor": [Figure.time(ErrorDelay.quietFloor)],
            "ErrorDelay.memoryFloor": [Figure.time(ErrorDelay.memoryFloor)],
            "ErrorDelay.halfLife": [Figure.time(ErrorDelay.halfLife)],
            "DialLimiter.perSecond": [Figure.count(DialLimiter.perSecond)],
            "ProviderDriver.chunk": [Figure.bytes(BinaryClient.chunk)],
            "ProviderConnector.channelLimit": [
                Figure.bytes(ProviderConnector.channelLimit.low), Figure.bytes(ProviderConnector.channelLimit.high),
                Figure.bytes(ProviderConnector.channelLimit.high + BinaryClient.chunk),
            ],
            "ProviderConnector.unsentLimit": [Figure.bytes(ProviderConnector.unsentLimit)],
            "HostAddresses.limit": [Figure.count(HostAddresses.limit)],
            "ProviderConnector.keepAlive": [Figure.time(ProviderConnector.keepAlive)],
            "TLSHandler.Limits.bufferedBytes": [Figure.bytes(TLSHandler.Limits().bufferedBytes)],
            "PushNotification.maximumPayloadLength": [Figure.count(PushNotification.maximumPayloadLength)],
            "PushNotification.maximumTopicLength": [Figure.count(PushNotification.maximumTopicLength)],
            "PushNotification.maximumCollapseIDLength": [Figure.count(PushNotification.maximumCollapseIDLength)],
            "DeviceToken.maximumLength": [Figure.count(DeviceToken.maximumLength)],
            "JSONScanner.maximumDepth": [Figure.count(JSONScanner.maximumDepth)],
            "BatchStorage.arenaLimit": [Figure.bytes(BatchStorage.arenaLimit + 1)],
        ],
        "how-it-works/http2.md": [:],
    ]

    @Test(arguments: constants.keys.sorted())
    func `a constant is what the row that names it says`(page: String) throws {
        try Self.expect(Self.constants[page] ?? [:], in: page)
    }

    /// Fails for a new row of "Every bound" or "Every deadline" whose constant is missing in the list above.
    @Test(arguments: constants.keys.sorted())
    func `every constant that a row names is compared`(page: String) throws {
        for row in try Self.rows(page) where row.section.hasPrefix("Every ") {
            for name in row.names where name.contains(/^[A-Z]\w+(\.[A-Z]\w+)*\.[a-z]\w+$/) {
                #expect(Self.constants[page]?[String(name)] != nil, "\(row) names \(name), which no test compares")
            }
        }
    }

    @Test(arguments: [
        ("| a | 10 in any second | `x` |", "10", true), ("| a | 10,000 | `x` |", "10", false),
        ("| a | max(50 ms, 4 × longest delay), at most 10 s | |", "50 ms", true), ("| a | 110 s |", "10 s", false),
        ("| a | 1 h; 5 s |", "1 h", true), ("| a | 1 hour |", "1 h", false),
    ])
    func `a figure is found only as words of its own`(text: String, figure: String, isSaid: Bool) {
        #expect(TableRow(page: "page", section: "Every bound", text: text[...]).says(figure) == isSaid)
    }
}
