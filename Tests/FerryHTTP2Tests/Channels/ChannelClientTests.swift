import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

/// Answers that do not come: what is repeated, and what is said.
@Suite struct ChannelClientTests {
    private static let create = ChannelOperation.create(.noMessageStored)
    private static let read = ChannelOperation.read(ChannelRehearsal.channel)
    private static let delete = ChannelOperation.delete(ChannelRehearsal.channel)

    private static func expectUnknown(_ error: ChannelManagerError, _ operation: ChannelOperation) {
        #expect(error.mayHaveTakenEffect == ChannelRehearsal.changes(operation))
        switch operation {
        case .create: #expect(error.message.contains("list the channels before you create another"))
        case .delete: #expect(error.message.contains("read it to find out"))
        case .read, .list: #expect(error.message.contains("Try again."))
        }
    }

    // MARK: A connection that cannot be made

    @Test func `A connection that cannot be made fails every call that waits, and the next call tries again`() throws {
        let apns = ChannelRehearsal()
        apns.isHeld = true
        let calls = ChannelRehearsal.operations.map { apns.submit($0) }
        #expect(apns.dials == 1)
        apns.refuse(ProviderError(.peerNotTrusted, "The authority is unknown."))
        for call in calls {
            let error = try apns.failure(call)
            #expect(error.code == .peerNotTrusted)
            #expect(error.message == "The authority is unknown.")
            #expect(!error.mayHaveTakenEffect)
            #expect((error.cause as? ProviderError)?.code == .peerNotTrusted)
        }
        apns.submit(.list)
        #expect(apns.dials == 2)
    }

    // MARK: A lost answer at each point

    @Test(arguments: ChannelRehearsal.operations)
    func `Nothing that was not written is in doubt`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.isHeld = true
        apns.submit(operation)
        try apns.pass(.seconds(30))
        let error = try apns.failure()
        #expect(error.code == .timeout)
        #expect(!error.mayHaveTakenEffect)
        #expect(apns.requests.isEmpty)
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A request that the system did not take never left: all but a creation are written again`(
        operation: ChannelOperation
    ) throws {
        let apns = ChannelRehearsal()
        apns.submit(.list)
        try apns.exchange()
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        apns.submit(operation)
        apns.writeInVain()
        try apns.end(handed: 0)
        try apns.exchange()
        if operation == Self.create {
            let error = try apns.failure()
            #expect(error.code == .connectionLost)
            #expect(!error.mayHaveTakenEffect)
            #expect(error.message.contains("Nothing was changed"))
            #expect(apns.requests.count == 1)
        } else {
            #expect(apns.requests.count == 2)
            #expect(apns.dials == 2)
        }
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A connection that is lost after the request leaves it in doubt, and repeats nothing`(
        operation: ChannelOperation
    ) throws {
        for end in [ConnectionEnd.endOfStream, .lost(ProviderError(.connectionLost, "The connection failed: reset."))] {
            let apns = ChannelRehearsal()
            apns.submit(operation)
            try apns.exchange()
            try apns.end(end)
            try apns.exchange()
            let error = try apns.failure()
            #expect(error.code == .connectionLost)
            Self.expectUnknown(error, operation)
            #expect(apns.requests.count == 1)
            #expect(apns.dials == 1)
        }
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A peer that never answers is left at the deadline, and repeats nothing`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        try apns.pass(.seconds(29))
        #expect(apns.results.isEmpty)
        try apns.pass(.seconds(1))
        let error = try apns.failure()
        #expect(error.code == .timeout)
        #expect(error.message.contains("within 30 s"))
        Self.expectUnknown(error, operation)
        #expect(apns.requests.count == 1)
        // The next call gets another connection.
        apns.submit(operation)
        try apns.exchange()
        #expect(apns.dials == 2)
        #expect(apns.requests.count == 2)
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A reset after the request leaves it in doubt`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        try apns.reset(.internalError)
        let error = try apns.failure()
        #expect(error.code == .connectionLost)
        #expect(error.message.contains("INTERNAL_ERROR"))
        Self.expectUnknown(error, operation)
        #expect(apns.requests.count == 1)
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `Fields of an answer without its end count where they suffice`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        switch operation {
        case .create:
            try apns.begin(status: 201, [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")])
            try apns.end()
            #expect(try apns.success() == .created(ChannelRehearsal.channel))
        case .delete:
            try apns.begin(status: 204)
            try apns.reset(.internalError)
            #expect(try apns.success() == .deleted)
        case .read, .list:
            try apns.begin(status: 200)
            try apns.end()
            #expect(try apns.failure().code == .connectionLost)
        }
    }

    // MARK: Not processed

    @Test(arguments: ChannelRehearsal.operations)
    func `REFUSED_STREAM repeats a request once, and never a creation`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        try apns.reset(.refusedStream)
        if operation != Self.create {
            #expect(apns.results.isEmpty)
            #expect(apns.requests.count == 2)
            #expect(Set(apns.requests.map { $0.fields["apns-request-id"] }).count == 1)
            try apns.reset(.refusedStream)
        }
        let error = try apns.failure()
        #expect(error.code == .notProcessed)
        #expect(!error.mayHaveTakenEffect)
        #expect(apns.requests.count == (operation == Self.create ? 1 : 2))
        #expect(apns.dials == 1)
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A GOAWAY below a request repeats it on another connection, and never a creation`(
        operation: ChannelOperation
    ) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        try apns.goAway(lastStreamID: 0)
        if operation == Self.create {
            #expect(try apns.failure().code == .notProcessed)
            #expect(apns.requests.count == 1)
        } else {
            #expect(apns.requests.map(\.connection) == [1, 2])
            try apns.goAway(lastStreamID: 0)
            #expect(try apns.failure().code == .notProcessed)
            #expect(apns.requests.count == 2)
        }
    }

    @Test(arguments: ChannelRehearsal.operations)
    func `A GOAWAY above a request lets it finish`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        try apns.goAway(lastStreamID: nil)
        #expect(apns.results.isEmpty)
        try apns.answer(status: 400, body: #"{"reason":"BadRequestParams"}"#)
        #expect(try apns.failure().reason == .badRequestParams)
        #expect(apns.finished.count == 1)
    }

    @Test func `A GOAWAY between calls costs nothing`() throws {
        let apns = ChannelRehearsal()
        apns.submit(Self.read)
        try apns.exchange()
        try apns.answer(status: 404)
        try apns.goAway(lastStreamID: nil)
        apns.submit(Self.create)
        try apns.exchange()
        #expect(apns.requests.map(\.connection) == [1, 2])
        try apns.answer(status: 201, [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")])
        #expect(try apns.success() == .created(ChannelRehearsal.channel))
    }

    @Test func `A GOAWAY on a connection without an answer does not fail the call that waits for the next`() throws {
        let apns = ChannelRehearsal()
        let cancelled = apns.submit(Self.read)
        try apns.exchange()
        apns.cancel(cancelled)
        try apns.goAway(lastStreamID: nil)
        let call = apns.submit(.list)
        apns.endFinished()
        try apns.exchange()
        #expect(apns.requests.map(\.connection) == [1, 2])
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        #expect(try apns.success(call) == .listed([]))
    }

    @Test func `A deletion of a channel that is not there is an error, also the second time`() throws {
        let apns = ChannelRehearsal()
        apns.submit(Self.delete)
        try apns.exchange()
        try apns.end()
        #expect(try apns.failure().mayHaveTakenEffect)
        apns.submit(Self.delete)
        try apns.exchange()
        try apns.answer(status: 400, body: #"{"reason":"ChannelNotRegistered"}"#)
        let error = try apns.failure()
        #expect(error.reason == .channelNotRegistered)
        #expect(!error.mayHaveTakenEffect)
    }

    // MARK: Tokens

    @Test(arguments: ChannelRehearsal.operations)
    func `A token that has expired is replaced once, also for a creation`(operation: ChannelOperation) throws {
        let apns = ChannelRehearsal()
        apns.submit(operation)
        try apns.exchange()
        apns.renewToken()
        try apns.answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
        #expect(apns.refusals == [.expiredProviderToken])
        #expect(apns.requests.map { $0.fields["authorization"] } == ["bearer t1", "bearer t2"])
        try apns.answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
        #expect(try apns.failure().reason == .expiredProviderToken)
        #expect(apns.requests.count == 2)
    }

    @Test func `Without another token the refusal stands`() throws {
        for isHeld in [false, true] {
            let apns = ChannelRehearsal()
            apns.submit(.list)
            try apns.exchange()
            if isHeld { apns.holdToken() }
            try apns.answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
            #expect(try apns.failure().reason == .expiredProviderToken)
            #expect(apns.requests.count == 1)
        }
    }

    @Test func `Without any token nothing is sent`() throws {
        let apns = ChannelRehearsal()
        apns.holdToken()
        let calls = ChannelRehearsal.operations.map { apns.submit($0) }
        try apns.exchange()
        for call in calls { #expect(try apns.failure(call).code == .noProviderToken) }
        #expect(apns.requests.isEmpty)
    }

    @Test func `While a token is on its way, calls wait`() throws {
        let apns = ChannelRehearsal()
        apns.isTokenAwaited = true
        let call = apns.submit(.list)
        try apns.exchange()
        try apns.pass(.seconds(1))
        #expect(apns.requests.isEmpty)
        #expect(apns.nextDeadline == apns.now + .milliseconds(20))
        apns.isTokenAwaited = false
        try apns.pass(.milliseconds(20))
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        #expect(try apns.success(call) == .listed([]))
    }

    @Test func `A token of another key gets another connection`() throws {
        let apns = ChannelRehearsal()
        apns.submit(.list)
        try apns.exchange()
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        apns.renewToken(key: 2)
        apns.submit(.list)
        try apns.exchange()
        #expect(apns.requests.map(\.connection) == [1, 2])
        #expect(apns.finished.count == 1)
    }

    // MARK: Bounds

    @Test func `SETTINGS bound the requests under way, and Ferry's own limit does`() throws {
        for (allowed, expected) in [(1, 1), (3, 3), (1000, 8)] as [(UInt32, Int)] {
            let apns = ChannelRehearsal()
            apns.settings.maxConcurrentStreams = allowed
            for _ in 0..<20 { apns.submit(.list) }
            try apns.exchange()
            #expect(apns.requests.count == expected)
            try apns.answer(status: 404)
            #expect(apns.requests.count == expected + 1)
        }
    }

    @Test func `A peer that allows no stream is waited for until the deadline`() throws {
        let apns = ChannelRehearsal()
        apns.settings.maxConcurrentStreams = 0
        // The first is written before SETTINGS, is refused, and is not written again.
        let calls = [Self.read, Self.create, Self.delete, .list].map { apns.submit($0) }
        try apns.exchange()
        #expect(apns.requests.isEmpty)
        try apns.pass(.seconds(30))
        for call in calls {
            #expect(try apns.failure(call).code == .timeout)
            #expect(try !apns.failure(call).mayHaveTakenEffect)
        }
    }

    @Test func `A useless connection fails the calls behind, so that no other follows at once`() throws {
        let apns = ChannelRehearsal()
        apns.settings.maxConcurrentStreams = 1
        let calls = (0..<5).map { _ in apns.submit(Self.create) }
        try apns.exchange()
        try apns.end()
        #expect(apns.dials == 1)
        #expect(try apns.failure(calls[0]).mayHaveTakenEffect)
        for call in calls.dropFirst() { #expect(try !apns.failure(call).mayHaveTakenEffect) }
    }

    @Test func `Bytes that are no HTTP/2 end the connection and its calls`() throws {
        for operation in ChannelRehearsal.operations {
            let apns = ChannelRehearsal()
            apns.submit(operation)
            try apns.exchange()
            try apns.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8) + Array(repeating: 0, count: 100))
            let error = try apns.failure()
            #expect(error.code == .invalidAnswer)
            #expect(error.message.contains("does not speak HTTP/2 correctly"))
            #expect(error.mayHaveTakenEffect == ChannelRehearsal.changes(operation))
        }
    }

    @Test func `Informational answers do not add up`() throws {
        let apns = ChannelRehearsal()
        apns.submit(Self.create)
        try apns.exchange()
        let fields = (0..<6).map { _ in ("x-more" as StaticString, String(repeating: "x", count: 600)) }
        for _ in 0..<8 { try apns.begin(status: 103, fields) }
        try apns.answer(status: 201, fields + [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")])
        #expect(try apns.success() == .created(ChannelRehearsal.channel))
    }

    // MARK: The end

    @Test func `An idle connection is left after 30 s, with a GOAWAY`() throws {
        let apns = ChannelRehearsal()
        apns.submit(.list)
        try apns.exchange()
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        try apns.pass(.seconds(29))
        #expect(apns.finished.isEmpty)
        try apns.pass(.seconds(1))
        #expect(apns.finished.count == 1)
        apns.submit(.list)
        try apns.exchange()
        #expect(apns.dials == 2)
        // A peer that does not close is closed.
        try apns.pass(.seconds(5))
        #expect(apns.closed == [ConnectionID(1)])
    }

    @Test func `A shutdown waits for answers, and ends what was not written`() throws {
        let apns = ChannelRehearsal()
        apns.settings.maxConcurrentStreams = 1
        let first = apns.submit(.list)
        let second = apns.submit(Self.create)
        try apns.exchange()
        apns.shutDown()
        try apns.exchange()
        #expect(try apns.failure(second).code == .shutDown)
        #expect(!apns.isFinished)
        try apns.answer(status: 200, body: #"{"channels":[]}"#)
        #expect(try apns.success(first) == .listed([]))
        apns.endFinished()
        #expect(apns.isFinished)
        #expect(apns.nextDeadline == nil)
        #expect(try apns.failure(apns.submit(.list)).code == .shutDown)
    }

    @Test func `A shutdown with a silent peer ends at the deadline`() throws {
        let apns = ChannelRehearsal()
        apns.submit(Self.create)
        try apns.exchange()
        apns.shutDown()
        try apns.pass(.seconds(30))
        Self.expectUnknown(try apns.failure(), Self.create)
        try apns.pass(.seconds(5))
        #expect(apns.isFinished)
    }

    @Test func `A manager that is dropped ends every call and connection at once`() throws {
        for operation in ChannelRehearsal.operations {
            let apns = ChannelRehearsal()
            apns.submit(operation)
            try apns.exchange()
            apns.abandon()
            #expect(try apns.failure().code == .shutDown)
            Self.expectUnknown(try apns.failure(), operation)
            #expect(apns.closed.count == 1)
            #expect(apns.isFinished)
        }
    }

    @Test func `A cancelled call ends at once, wherever it is`() throws {
        for operation in ChannelRehearsal.operations {
            let waiting = ChannelRehearsal()
            waiting.isHeld = true
            waiting.cancel(waiting.submit(operation))
            #expect(try waiting.failure().code == .cancelled)
            #expect(try !waiting.failure().mayHaveTakenEffect)

            let written = ChannelRehearsal()
            let call = written.submit(operation)
            try written.exchange()
            written.cancel(call)
            try written.exchange()
            #expect(try written.failure().code == .cancelled)
            Self.expectUnknown(try written.failure(), operation)
            // A second end changes nothing.
            written.cancel(call)
            #expect(written.results.count == 1)
        }
    }

    @Test func `No words hold a token`() throws {
        for operation in ChannelRehearsal.operations {
            let apns = ChannelRehearsal()
            apns.submit(operation)
            try apns.exchange()
            try apns.answer(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
            let error = try apns.failure()
            #expect(!"\(error) \(String(reflecting: error))".contains("bearer"))
        }
    }
}
