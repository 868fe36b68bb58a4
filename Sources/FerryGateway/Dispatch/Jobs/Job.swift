internal import FerryCore
internal import NIOCore

/// One notification on its way to APNs, until its final answer.
struct Job: Sendable {
    /// A notification that was read and gets this job's result.
    struct Reader: Hashable, Sendable {
        var connection: ConnectionID
        var sequence: UInt64
    }

    /// The connection on which a job is under way, or for which the job waits.
    enum Way: Hashable, Sendable {
        /// The job is on no connection, and waits for no side connection.
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
        /// The gate of the job's topic is shut.
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
    /// The route over which the job was last sent; 0 before the first attempt. A reload may have given the job's flow
    /// another route since.
    var route = 0
    /// Whether the job waits without a known topic. The job gets its topic when it goes out, usually the topic that
    /// APNs accepted last for the client.
    var isGuess = false
    var way = Way.none
    /// The reason why the job is not at an upstream. It has a meaning only while ``way`` is `none`.
    var wait = Wait.turn
    /// The tick in which the job was last sent.
    var tick: UInt32 = 0
    /// The device token, then the payload.
    let bytes: [UInt8]
    let tokenLength: Int
    /// The `apns-expiration` in UNIX seconds; 0 for one attempt of APNs to deliver the notification.
    let expiration: UInt32
    /// The priority; 0 if the notification has none.
    let priority: UInt8
    /// When the notification was read, or its letter was sent again; the time of the computer's boot if the boot came
    /// later.
    let readAt: NIODeadline
    /// The age of the notification at the boot. The monotonic clock begins at the boot, so ``readAt`` does not contain
    /// this age.
    var ageAtBoot = TimeAmount.zero
    let first: Reader
    /// The copies that joined the job.
    var joined: [Reader] = []
    /// The number of times that this process put the job into a batch for an upstream.
    var attempts = 0
    /// The number of attempts that may have arrived and after which the job was sent again.
    var doubts = 0
    /// Whether the notification may have arrived before this job was made.
    var mayHaveArrived = false
    /// Whether the notification may have arrived over a connection that may still be open. The next attempt must then
    /// go over another connection.
    var needsOther = false
    /// The reason of the last refusal; nil before the first one.
    var lastReason: Reason?
    /// The segment of the journal with the job; 0 if no segment has it.
    var segment: UInt64 = 0
    /// Whether the store also has the job in an earlier segment, in a late segment, or as a letter. The store keeps
    /// this segment or letter until ``segment`` is durable.
    var isCarried = false
    /// When the notification was read, or its letter was sent again, in UNIX seconds.
    let readAtSeconds: UInt32
    /// Whether the client counts the notification as accepted, without an answer.
    var isReleased = false
    /// Whether the time to the answer shows how fast the way to APNs is. False after a restart, for a letter that was
    /// sent again, for a job that another process handed over, and after a wait at a shut gate.
    var isTimed = true
    /// Whether an error response can name the notification. False if the notification has no identifier, and for a
    /// letter that was sent again.
    var isNamed = true

    var token: ArraySlice<UInt8> { self.bytes[..<self.tokenLength] }

    /// The segment that must be durable so that the store has the job; 0 without a store, and if ``isCarried``, because
    /// the store then has the job already.
    var storedSegment: UInt64 { self.isCarried ? 0 : self.segment }

    /// Whether the job is at an upstream, or in a batch for an upstream.
    var isUnderWay: Bool {
        switch self.way {
        case .common, .side: true
        case .none, .waitsForSide: false
        }
    }

    /// The time since the notification was read, or since its letter was sent again. A change of the system's clock has
    /// no effect on this time.
    func age(now: NIODeadline) -> TimeAmount { now - self.readAt + self.ageAtBoot }

    /// Sets the flow with which the job is sent now, and which is tried first. After the call, the job is no guess.
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
