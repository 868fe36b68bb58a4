internal import FerryCore
internal import NIOCore

/// One notification on its way to APNs, until APNs has given its last answer.
struct Job: Sendable {
    /// A notification that was read, and gets this job's result.
    struct Reader: Hashable, Sendable {
        var connection: ConnectionID
        var sequence: UInt64
    }

    /// The connection on which a job is under way.
    enum Way: Hashable, Sendable {
        /// It waits, or its answer is in.
        case none
        /// It waits for a side connection until this time.
        case waitsForSide(until: NIODeadline)
        case common
        case side(UInt64)
    }

    let scope: ReplayScope
    /// The place of the present route among the identity's.
    var topic = 0
    /// The place of the route that is tried first. The others follow it, and after the last one the first.
    var firstTopic = 0
    /// Whether no topic is known for its token, and it waits for its turn: it goes out with the topic that APNs took last
    /// for its client.
    var isGuess = false
    /// Where it is under way.
    var way = Way.none
    /// The tick in which it went out the last time.
    var tick: UInt32 = 0
    /// The device token, then the payload.
    let bytes: [UInt8]
    let tokenLength: Int
    /// UNIX seconds; 0: once.
    let expiration: UInt32
    /// 0: none.
    let priority: UInt8
    let readAt: NIODeadline
    let first: Reader
    /// The copies that joined.
    var joined: [Reader] = []
    /// How often it went out, or was about to.
    var attempts = 0
    /// How often it may have arrived.
    var doubts = 0
    /// Whether it may have arrived over a connection that may still be open. Its copy must go over another one.
    var needsOther = false
    /// Why APNs did not take it the last time; nil: APNs said nothing.
    var lastReason: Reason?
    /// The segment of the journal that has it; 0: none.
    var segment: UInt64 = 0
    /// UNIX seconds: when it was read.
    let readAtSeconds: UInt32
    /// Whether the client counts it as accepted, because it took too long.
    var isReleased = false
    /// Whether it has an identifier: without one, no error response can name it.
    var isNamed = true

    var token: ArraySlice<UInt8> { self.bytes[..<self.tokenLength] }

    /// Whether an upstream has it.
    var isUnderWay: Bool {
        switch self.way {
        case .common, .side: true
        case .none, .waitsForSide: false
        }
    }

    /// Lets the notification begin with this topic, which was left open.
    mutating func begin(with topic: Int) {
        self.isGuess = false
        self.topic = topic
        self.firstTopic = topic
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
