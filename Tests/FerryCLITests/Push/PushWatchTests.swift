import Ferry
import Synchronization
import Testing

@testable import FerryCLI

@Suite struct PushWatchTests {
    private final class Words: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func say(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    private static func watch(_ words: Words, _ ledger: LineLedger = LineLedger()) throws -> (PushWatch, PushStop) {
        let stop = try PushStop(BinaryProvider(BinaryConfiguration(host: "localhost")), proof: .silence)
        return (PushWatch(stop: stop, ledger: ledger, say: words.say), stop)
    }

    @Test func `events that were missed are said`() throws {
        let words = Words()
        let (watch, _) = try Self.watch(words)
        watch.note(.dropped(7))
        #expect(words.all == ["7 events came too fast to be looked at"])
    }

    @Test func `contradictions are counted, and their lines handed on`() throws {
        let ledger = LineLedger()
        let (watch, _) = try Self.watch(Words(), ledger)
        watch.note(.contradicted(Contradiction(count: 3, tags: [1], kind: .lost)))
        watch.note(.contradicted(Contradiction(count: 2, tags: [], kind: .lost)))
        #expect(watch.contradicted == 5)
        #expect(ledger.take().contradictions.map(\.count) == [3, 2])
    }

    @Test func `the last failure to connect is kept until there is a connection`() throws {
        let (watch, stop) = try Self.watch(Words())
        guard case .none = watch.connection else { return #expect(Bool(false)) }
        for message in ["first", "last"] {
            watch.note(.socketError(ConnectionID(1), ProviderError(.connectFailed, message)))
        }
        guard case .failed(let error) = watch.connection else { return #expect(Bool(false)) }
        #expect(error.message == "last")
        watch.note(.connected(ConnectionID(2), open: 1))
        watch.note(.socketError(ConnectionID(2), ProviderError(.peerNotTrusted, "later")))
        #expect(watch.connection.isMade)
        #expect(!stop.isSet)
    }

    @Test func `a gateway that is not trusted at the first connection ends the run`() throws {
        let (watch, stop) = try Self.watch(Words())
        watch.note(.socketError(ConnectionID(1), ProviderError(.peerNotTrusted, "stranger")))
        guard case .failed(let error) = stop.cause else { return #expect(Bool(false)) }
        #expect(error.message == "stranger")
        #expect(stop.end != nil)
    }
}
