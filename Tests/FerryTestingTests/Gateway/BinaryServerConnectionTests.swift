internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryTesting
internal import NIOCore
internal import Testing

@Suite struct BinaryServerConnectionTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)
    private static let until = start + .seconds(2)

    /// Returns a notification of command 1 with the payload `{}`.
    private static func enhanced(_ identifier: UInt8, token: [UInt8]) -> [UInt8] {
        [1, 0, 0, 0, identifier, 0, 0, 0, 0, 0, UInt8(token.count)] + token + [0, 2, 0x7b, 0x7d]
    }

    private static func connection() -> BinaryServerConnection {
        BinaryServerConnection(NotificationDecoder(), linger: .seconds(2))
    }

    /// Gives bytes to the connection and reads all items; returns how many were found.
    private static func receive(_ bytes: [UInt8], _ connection: inout BinaryServerConnection) -> Int {
        var count = 0
        connection.received(ByteBuffer(bytes: bytes)) { _, _ in
            count += 1
            return .goOn
        }
        return count
    }

    @Test func `a client that ends is answered with an end, and nothing counts as discarded`() {
        var connection = Self.connection()
        #expect(Self.receive(Self.enhanced(1, token: [1]) + [1, 0], &connection) == 1)
        #expect(connection.inputClosed() == .close)
        #expect(connection.inputClosed() == .none)
        #expect(connection.discardedBytes == 0)
    }

    @Test func `notifications after a verdict are discarded, both before the last word and after it`() {
        var connection = Self.connection()
        let next = Self.enhanced(2, token: [2])
        connection.received(ByteBuffer(bytes: Self.enhanced(1, token: []) + next)) { _, _ in .stop }
        connection.decide()
        #expect(connection.discardedBytes == next.count)
        #expect(Self.receive(next, &connection) == 0)
        #expect(connection.end(at: Self.start) == .closeOutput(until: Self.until))
        #expect(Self.receive(next, &connection) == 0)
        #expect(connection.discardedBytes == 3 * next.count)
    }

    @Test func `a connection ends once`() {
        var connection = Self.connection()
        #expect(connection.end(at: Self.start) == .closeOutput(until: Self.until))
        #expect(connection.end(at: Self.start) == .none)
        connection.decide()
        #expect(connection.ignore() == .none)
        #expect(connection.timePassed(at: Self.until) == .close)
        #expect(connection.timePassed(at: Self.until) == .none)
        #expect(connection.inputClosed() == .none)
    }

    @Test func `after its last word a connection waits for the client's end, but not too long`() {
        var patient = Self.connection()
        _ = patient.end(at: Self.start)
        #expect(patient.timePassed(at: Self.until - .nanoseconds(1)) == .none)
        #expect(patient.inputClosed() == .close)
        var impatient = Self.connection()
        _ = impatient.end(at: Self.start)
        #expect(impatient.timePassed(at: Self.until) == .close)
    }

    @Test func `a client that ends before the last word still gets it, and then the end`() {
        var connection = Self.connection()
        connection.decide()
        #expect(connection.inputClosed() == .none)
        #expect(connection.end(at: Self.start) == .close)
        var ignored = Self.connection()
        ignored.decide()
        #expect(ignored.inputClosed() == .none)
        #expect(ignored.ignore() == .close)
    }

    @Test func `a connection that is ignored stays open until the client ends it`() {
        var connection = Self.connection()
        #expect(connection.ignore() == .none)
        #expect(Self.receive(Self.enhanced(1, token: [1]), &connection) == 0)
        #expect(connection.timePassed(at: .distantFuture) == .none)
        #expect(connection.inputClosed() == .close)
    }

    @Test func `a connection that the owner has reset does nothing more`() {
        var connection = Self.connection()
        connection.closed()
        #expect(Self.receive(Self.enhanced(1, token: [1]), &connection) == 0)
        #expect(connection.end(at: Self.start) == .none)
        #expect(connection.inputClosed() == .none)
        #expect(connection.timePassed(at: .distantFuture) == .none)
    }

    @Test(
        arguments: [
            (Self.enhanced(7, token: []), ErrorResponse(status: .missingDeviceToken, identifier: 7)),
            ([2, 0, 0, 0, 0], ErrorResponse(status: .missingDeviceToken, identifier: 0)),
            ([0, 0, 0, 0, 0], nil),
        ] as [([UInt8], ErrorResponse?)]
    )
    func `a faulty notification is answered as documented`(bytes: [UInt8], expected: ErrorResponse?) {
        var answers: [ErrorResponse?] = []
        var connection = Self.connection()
        connection.received(ByteBuffer(bytes: bytes)) { item, _ in
            if case .refused(let refusal) = item { answers.append(ErrorResponse(to: refusal)) }
            return .stop
        }
        #expect(answers == [expected])
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `no order of events makes a connection speak after its last word, or close twice`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var connection = Self.connection()
        var (endings, closings) = (0, 0)
        var now = Self.start
        for _ in 0..<40 {
            now = now + .milliseconds(Int64.random(in: 0...900, using: &random))
            var action = BinaryServerConnection.Action.none
            switch Int.random(in: 0..<7, using: &random) {
            case 0: connection.decide()
            case 1: action = connection.end(at: now)
            case 2: action = connection.ignore()
            case 3: action = connection.inputClosed()
            case 4: action = connection.timePassed(at: now)
            default: _ = Self.receive((0..<20).map { _ in UInt8(truncatingIfNeeded: random.next()) }, &connection)
            }
            switch action {
            case .none: break
            case .closeOutput(let until):
                endings += 1
                #expect(until == now + .seconds(2))
                #expect(closings == 0)
            case .close: closings += 1
            }
        }
        #expect(endings <= 1)
        #expect(closings <= 1)
    }
}
