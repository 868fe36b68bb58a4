internal import FerryCore
internal import NIOCore

/// One notification on its way to APNs, until its final answer.
struct Job: Sendable {
    /// A notification that was read and gets this job's result.
    struct Reader: Hashable, Sendable {
        var connection: ConnectionID
        var sequence: UInt64
    }

    /// The connection on which a job is under way, or the connection for which it waits.
    enum Way: Hashable, Sendable {
        /// The job waits, or has its answer.
        case none
        /// The job waits for a side connection until this time.
        case waitsForSide(until: NIODeadline)
        case common
        case side(UInt64)
    }

    /// The reason why a job is not at an upstream.
    enum Wait: Sendable {
        /// The store does not have the job yet.
        case store
        /// The gate of its topic is shut.
        case gate
        /// The job goes out again after a pause, because the last attempt failed.
        case pause
        /// The job waits for its turn on the way to the upstream.
        case turn
    }

    let scope: ReplayScope
    /// The number of the flow, and so of the topic, with which the job is sent now.
    var flow = 0
    /// The number of the flow that is tried first. Then the client's later topics are tried, and then the earlier ones.
    var firstFlow = 0
    /// The route over which the job was last sent. A reload may have given its flow another route since.
    var route = 0
    /// Whether the job waits without a known topic. It is sent with the topic that APNs accepted last.
    var isGuess = false
    var way = Way.none
    /// The reason why the job is not at an upstream. It has a meaning only while ``way`` is `none`.
    var wait = Wait.turn
    /// The tick in which the job was last sent.
    var tick: UInt32 = 0
    /// The device token, then the payload.
    let bytes: [UInt8]
    let tokenLength: Int
    /// The expiration in UNIX seconds; 0 for one attempt at delivery.
    let expiration: UInt32
    /// The priority; 0 if the notification has none.
    let priority: UInt8
    /// When the notification was read; the boot of the computer if it came later.
    let readAt: NIODeadline
    /// The age of the notification at the boot. The monotonic clock begins at the boot, so ``readAt`` does not contain
    /// this age.
    var ageAtBoot = TimeAmount.zero
    let first: Reader
    /// The copies that joined the job.
    var joined: [Reader] = []
    /// The number of times that the job was put into a batch for an upstream.
    var attempts = 0
    /// The number of attempts of this job that may have arrived.
    var doubts = 0
    /// Whether the notification may have arrived before this job was made.
    var mayHaveArrived = false
    /// Whether the job may have arrived over a connection that may still be open. Its copy must go over another
    /// connection.
    var needsOther = false
    /// The reason of the last refusal; nil before the first one.
    var lastReason: Reason?
    /// The segment of the journal with the job; 0 if no segment has it.
    var segment: UInt64 = 0
    /// Whether the store also has the job in an earlier segment, or as a letter. The store drops the segment or the
    /// letter only after ``segment`` is durable.
    var isCarried = false
    /// When the notification was read, in UNIX seconds.
    let readAtSeconds: UInt32
    /// Whether the client counts the notification as accepted, without an answer.
    var isReleased = false
    /// Whether the time to the answer shows how fast the way to APNs is. After a restart, for a letter that was sent
    /// again, and after a wait at a shut gate, it does not.
    var isTimed = true
    /// Whether the notification has an identifier. Without one, no error response can name it.
    var isNamed = true

    var token: ArraySlice<UInt8> { self.bytes[..<self.tokenLength] }

    /// The segment that must be durable so that the store has the job; 0 if the store has it in any case, or without a
    /// store.
    var storedSegment: UInt64 { self.isCarried ? 0 : self.segment }

    /// Whether the job is at an upstream.
    var isUnderWay: Bool {
        switch self.way {
        case .common, .side: true
        case .none, .waitsForSide: false
        }
    }

    /// The time since the notification was read. It does not change when the system's clock is set.
    func age(now: NIODeadline) -> TimeAmount { now - self.readAt + self.ageAtBoot }

    /// Sets the flow that is tried first. The job is no guess after that.
    mutating func begin(with flow: Int) {
        self.isGuess = false
        self.flow = flow
        self.firstFlow = flow
    }

    init(
        scope: ReplayScope,
        token: UnsafeBufferPointer<UInt8>,
        payload: UnsafeBufferPointer<UInt8>,
        expiration: UInt32,
        priority: UInt8,
        first: Reader,
        readAt: NIODeadline,
        readAtSeconds: UInt32
    ) {
        self.scope = scope
        self.bytes = Array(unsafeUninitializedCapacity: token.count + payload.count) { bytes, count in
            _ = bytes.update(fromContentsOf: token)
            _ = bytes.dropFirst(token.count).update(fromContentsOf: payload)
            count = token.count + payload.count
        }
        self.tokenLength = token.count
        self.expiration = expiration
        self.priority = priority
        self.first = first
        self.readAt = readAt
        self.readAtSeconds = readAtSeconds
    }
}
