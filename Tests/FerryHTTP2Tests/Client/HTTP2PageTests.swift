import FerryCore
import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryHTTP2

/// Checks that `Docs/how-it-works/http2.md` and the code give the same figures.
@Suite struct HTTP2PageTests {
    private let text: String
    private let options = HTTP2Options()

    init() throws {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Docs/how-it-works/http2.md")
        self.text = try String(contentsOf: page.standardized, encoding: .utf8)
    }

    private func says(_ sentence: String) -> Bool { self.text.contains(sentence) }

    private func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }

    @Test func `the options have the values of the table`() throws {
        #expect(self.says("| `deadline` | \(self.seconds(self.options.deadline)) |"))
        #expect(self.says("| `attemptTimeout` | \(self.seconds(self.options.attemptTimeout)) |"))
        #expect(self.options.onUnknown == .report && self.says("| `onUnknown` | `.report` |"))
        #expect(self.says("| `maxConnections` | \(self.options.maxConnections) |"))
        #expect(self.says("| `maxStreams` | \(self.options.maxStreams) |"))
        #expect(self.says("| `queueLimit`, `delayLimit` | \(self.options.queueLimit), \(self.options.delayLimit) |"))
        #expect(self.says("| `pingInterval` | \(self.seconds(self.options.pingInterval)) |"))
        #expect(self.says("| `idleCheck` | \(self.seconds(self.options.idleCheck)) |"))
        #expect(self.options.backOff == .milliseconds(250) ... .seconds(30))
        let limit = try #require(self.options.connectionRetryLimit)
        let timeout = self.seconds(self.options.connectTimeout)
        #expect(self.says("`backOff` | \(timeout), \(limit), 250 ms to 30 s |"))
    }

    @Test func `the circuit breaker has the figures of its paragraph`() throws {
        let breaker = try #require(self.options.circuitBreaker)
        let first = CircuitBreaker.firstRefusals
        #expect(self.says("After \(breaker.threshold) in a row (`circuitBreaker`), or \(first) where APNs"))
        #expect(self.says("pauses for \(self.seconds(breaker.pause.lowerBound)). Then \(breaker.trial) are tried"))
        #expect(self.says("twice as long, up to \(self.seconds(breaker.pause.upperBound)). Any other"))
    }

    @Test func `connections have the figures of their paragraphs`() {
        #expect(self.says("At most \(DialLimiter.perSecond) are made in a second."))
        #expect(self.says("| the provider's first connection | \(EarnedWindow.start), "))
        #expect(EarnedWindow.divisorInDoubt == 16 && self.says("one sixteenth of the answers"))
        #expect(EarnedWindow.divisorForCopies == 2 && self.says("half of those answers"))
        #expect(EarnedWindow.weight == 0.25 && self.says("an average in which each end is a quarter"))
        #expect(self.says("a connection that had 16,000 may lose 1000"))
        #expect(PingMachine.limit == .seconds(10) && self.says("Without an answer in 10 s the connection is dead"))
        #expect(ProviderTokenMachine.shortestInterval == .minutes(20) && self.says("less than 20 minutes old"))
    }

    @Test func `each suffix that decides a push type stands in its table`() {
        for rules in PushTypeTable().all where !rules.suffix.isEmpty {
            #expect(self.says("`\(rules.suffix.text)` \(rules.type.rawValue)"), "\(rules.type)")
        }
    }

    @Test func `the page of ferry push lists the push types`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let page = folder.appending(path: "../../../Docs/commands/push.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let list = PushType.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        #expect(text.contains("| `pushType` | string | \(list) |"))
    }
}
