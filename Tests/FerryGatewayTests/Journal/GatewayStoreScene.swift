import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Synchronization

@testable import FerryGateway

/// A gateway machine with a store, a client and an APNs of the test's own, and the test's own time. The gateway can be
/// killed and started again.
final class GatewayStoreScene {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    let store: MemoryStore
    private(set) var machine: GatewayMachine
    private(set) var now = Moment(monotonic: GatewayStoreScene.start, epochSeconds: 1_700_000_000)
    private(set) var sent: [Submission] = []
    private(set) var told: [ErrorResponse] = []
    private(set) var closed: [ConnectionID] = []
    private(set) var events: [GatewayEvent] = []
    /// What the file of the list of rejections was asked to write.
    private(set) var batches: [ListBatch] = []
    /// Whether that file answers.
    var fileAnswers = true
    /// Why that file takes no line; nil if it takes them.
    var fileTrouble: String?
    /// The number of notifications that the provider takes from now on.
    var providerRoom = Int.max
    private let answers = Answers()
    private var clockLag: UInt32 = 0

    /// The answers of the store, which come in the turn of the commit.
    private final class Answers: Sendable {
        private let answers = Mutex<[(UInt64, StoreAnswer)]>([])

        func append(_ segment: UInt64, _ answer: StoreAnswer) { self.answers.withLock { $0.append((segment, answer)) } }

        func take() -> [(UInt64, StoreAnswer)] {
            self.answers.withLock { answers in
                defer { answers = [] }
                return answers
            }
        }
    }

    private let change: (inout ClientIdentity) -> Void
    /// The host and the credential of the upstream, for the next process.
    var upstreamKey: [UInt8] = []

    private let hasList: Bool

    /// - Parameter store: the store of another scene. Its gateway finds out with its next commit that this one has it.
    init(
        on store: MemoryStore = MemoryStore(),
        upstreamKey: [UInt8] = [],
        hasList: Bool = false,
        _ change: @escaping (inout ClientIdentity) -> Void = { _ in }
    ) throws {
        self.store = store
        self.hasList = hasList
        self.change = change
        self.upstreamKey = upstreamKey
        self.machine = try GatewayProcess.machine(
            self.store,
            upstreamKey: upstreamKey,
            hasList: hasList,
            change,
            now: self.now,
            makeKey: Self.key
        )
    }

    static func key(_ token: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>) -> ReplayKey {
        ReplayKey(high: UInt64(payload.count), low: token.reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Ends the process without a word, and starts another. What APNs has not answered will never be heard.
    ///
    /// - Parameter reboots: whether the machine has started anew, too, so that its monotonic clock says nothing of before.
    func kill(reboots: Bool = false) throws {
        self.sent = []
        _ = self.answers.take()
        let boot = reboots ? BootIdentifier([UInt8](repeating: 7, count: BootIdentifier.length)) : GatewayProcess.boot
        self.machine = try GatewayProcess.machine(
            self.store,
            upstreamKey: self.upstreamKey,
            hasList: self.hasList,
            self.change,
            now: self.now,
            boot: boot,
            makeKey: Self.key
        )
        self.collect()
    }

    // MARK: The client

    func connect() -> ConnectionID {
        let id = self.machine.connected(identity: 0, address: [192, 0, 2, 1], now: self.now)
        self.machine.sampled(id, roundTrip: .milliseconds(1))
        return id
    }

    func push(
        _ token: [UInt8],
        _ identifier: UInt32,
        payload: String = #"{"aps":{"alert":"Hello"}}"#,
        on connection: ConnectionID
    ) {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt8(1), identifier, UInt32(0), UInt16(token.count))
        bytes.writeBytes(token)
        bytes.writeInteger(UInt16(payload.utf8.count))
        bytes.writeString(payload)
        self.machine.received(connection, bytes, now: self.now)
        self.collect()
    }

    /// Sends a notification of command 0, which has no identifier.
    func pushUnnamed(_ token: [UInt8], on connection: ConnectionID) {
        let payload = #"{"aps":{"alert":"Hello"}}"#
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt8(0), UInt16(token.count))
        bytes.writeBytes(token)
        bytes.writeInteger(UInt16(payload.utf8.count))
        bytes.writeString(payload)
        self.machine.received(connection, bytes, now: self.now)
        self.collect()
    }

    func hangUp(_ connection: ConnectionID) {
        self.machine.inputEnded(connection, now: self.now)
        self.collect()
    }

    // MARK: The owner

    func shutDown() {
        self.machine.shutDown(now: self.now)
        self.collect()
    }

    /// Passes on what former owners of the shared store have handed over.
    func beat() { self.take(self.store.late) }

    func take(_ late: [StoredSegment]) {
        self.machine.takeOver(late, now: self.now)
        self.collect()
    }

    func collect() {
        while true {
            for action in self.machine.takeActions() {
                switch action.work {
                case .tell(let response): self.told.append(response)
                case .close: self.closed.append(action.connection)
                case .closeOutput, .read: break
                }
            }
            self.writeList()
            self.events += self.machine.takeEvents()
            self.machine.withBatches(for: 0) { _, batch in
                while self.providerRoom > 0, let next = batch.popFirst() {
                    self.providerRoom -= 1
                    self.sent.append(next)
                }
            }
            for commit in self.machine.takeCommits(now: self.now) {
                let (number, answers) = (commit.segment.number, self.answers)
                self.store.append(commit) { answers.append(number, $0) }
            }
            let answers = self.answers.take()
            guard !answers.isEmpty else { return }
            for (number, answer) in answers { self.machine.stored(number, answer, now: self.now) }
        }
    }

    private func writeList() {
        guard let batch = self.machine.takeLines(now: self.now) else { return }
        self.batches.append(batch)
        guard self.fileAnswers else { return }
        if let fileTrouble {
            return self.machine.written(ListAnswer(count: 0, trouble: fileTrouble), now: self.now)
        }
        let place = ListPlace(device: 1, inode: 1, offset: UInt64(self.batches.count))
        self.machine.written(ListAnswer(count: batch.lines.count, place: place), now: self.now)
    }

    /// The tokens of the notifications that APNs has not answered.
    var sentTokens: [[UInt8]] { self.sent.map(\.device.bytes) }

    /// Answers the notifications to this token.
    func answer(_ token: [UInt8], _ outcome: Outcome = .accepted(.confirmed)) {
        let records = self.sent.filter { $0.device.bytes == token }.map { OutcomeRecord(tag: $0.tag, outcome: outcome) }
        self.sent.removeAll { $0.device.bytes == token }
        self.machine.settled(records, now: self.now)
        self.collect()
    }

    /// Accepts everything that goes out; returns the tokens in order. A client's credit lets a few go out at a time.
    @discardableResult
    func acceptAll() -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        while !self.sent.isEmpty {
            let records = self.sent.map { OutcomeRecord(tag: $0.tag, outcome: .accepted(.confirmed)) }
            tokens += self.sentTokens
            self.sent = []
            self.machine.settled(records, now: self.now)
            self.collect()
        }
        return tokens
    }

    func wait(_ time: TimeAmount) {
        let end = self.now.monotonic + time
        while let next = self.machine.nextDeadline, next <= end {
            self.advance(to: max(next, self.now.monotonic))
            self.machine.timePassed(now: self.now)
            self.collect()
        }
        self.advance(to: end)
    }

    /// Sets the system's clock back.
    func setClockBack(_ seconds: UInt32) {
        self.clockLag += seconds
        self.advance(to: self.now.monotonic)
    }

    func setClockForward(_ seconds: UInt32) {
        self.clockLag -= seconds
        self.advance(to: self.now.monotonic)
    }

    /// Has one notification accepted on a connection of its own, so that the topic is known to be good.
    func warm() {
        let connection = self.connect()
        self.push([0xff], 0, on: connection)
        self.answer([0xff])
        self.hangUp(connection)
    }

    private func advance(to time: NIODeadline) {
        let seconds = (time - Self.start).nanoseconds / 1_000_000_000
        self.now = Moment(monotonic: time, epochSeconds: 1_700_000_000 + UInt32(seconds) - self.clockLag)
    }
}
