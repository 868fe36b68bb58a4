import Ferry
import FerryBinary
import FerryOpenSSL
import Synchronization
import Testing

@testable import FerryCommand

@Suite struct PushWatchTests {
    private final class Words: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func say(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    /// - Parameter warnings: receives the warnings of a run that is not verbose.
    private static func watch(
        _ words: Words,
        _ ledger: LineLedger = LineLedger(),
        warnings: Words? = nil
    ) throws -> (PushWatch, PushStop) {
        let stop = try PushStop(
            BinaryProvider(BinaryConfiguration(host: "localhost", outcomes: .discard)),
            proof: .silence
        )
        return (
            PushWatch(
                stop: stop,
                ledger: ledger,
                say: warnings == nil ? words.say : nil,
                warn: (warnings ?? words).say
            ), stop
        )
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

    @Test func `a burst of rejections ends nothing, and refused credentials end the run`() throws {
        let words = Words()
        let (watch, stop) = try Self.watch(words)
        watch.note(.error(ProviderError(.tooManyRejections, "sending pauses")))
        #expect(!stop.isSet)
        #expect(words.all == ["sending pauses"])
        watch.note(.error(ProviderError(.credentialsRejected, "refused")))
        guard case .failed(let error) = stop.cause else { return #expect(Bool(false)) }
        #expect(error.message == "refused")
    }

    @Test func `a provider token that is late is said and waited for`() throws {
        let warnings = Words()
        let (watch, stop) = try Self.watch(Words(), warnings: warnings)
        watch.note(.error(ProviderError(.noProviderToken, "There is none.")))
        #expect(warnings.all == ["ferry: There is none."])
        #expect(watch.lack?.message == "There is none.")
        #expect(!stop.isSet)
    }

    @Test func `that sending pauses is said once to who asked for no words`() throws {
        let (words, warnings) = (Words(), Words())
        let (watch, stop) = try Self.watch(words, warnings: warnings)
        for _ in 1...3 { watch.note(.error(ProviderError(.tooManyRejections, "Sending pauses."))) }
        #expect(warnings.all == ["ferry: Sending pauses."])
        #expect(words.all == [])
        #expect(!stop.isSet)
    }

    @Test func `a rejection with status 403 is one of credentials, unless it forbids one action`() throws {
        let (watch, _) = try Self.watch(Words())
        func note(_ reason: Reason, _ status: Int, _ origin: Rejection.Origin = .apns) {
            let rejection = Rejection(reason: reason, origin: origin, status: status)
            watch.note(.transmissionError(rejection, tag: nil, notification: nil, device: nil))
        }
        note(.badDeviceToken, 400)
        note(.forbidden, 403)
        note(.badTopic, 403, .ferry)
        #expect(watch.refusal == nil)
        note(.invalidProviderToken, 403)
        note(.unregistered, 410)
        #expect(watch.refusal?.reason == .invalidProviderToken)
    }

    @Test func `a peer that speaks another protocol ends the run, without another attempt`() throws {
        let errors = [
            ProviderError(.protocolViolation, "HTTP", cause: ForeignProtocol.http2),
            ProviderError(.connectFailed, "no h2", cause: TLSError(.noCommonApplicationProtocol, "none")),
        ]
        for error in errors {
            let (watch, stop) = try Self.watch(Words())
            watch.note(.socketError(ConnectionID(1), error))
            watch.note(.error(error))
            guard case .failed(let failure) = stop.cause else { return #expect(Bool(false)) }
            #expect(failure.message == error.message)
            #expect(stop.end.map { $0 <= .now } == true)
        }
    }

    @Test func `a failed connection ends no run until the provider says so`() throws {
        let (watch, stop) = try Self.watch(Words())
        let error = ProviderError(.protocolViolation, "HTTP", cause: ForeignProtocol.http1)
        watch.note(.socketError(ConnectionID(2), error))
        #expect(!stop.isSet)
        watch.note(.error(error))
        #expect(stop.isSet)
    }

    @Test func `a gateway that is not trusted ends the run`() throws {
        let (watch, stop) = try Self.watch(Words())
        watch.note(.error(ProviderError(.peerNotTrusted, "stranger")))
        guard case .failed(let error) = stop.cause else { return #expect(Bool(false)) }
        #expect(error.message == "stranger")
        #expect(stop.end != nil)
    }
}
