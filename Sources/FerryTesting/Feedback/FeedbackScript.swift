/// How a ``SimulatedFeedback`` behaves: what stands on its list, and what goes wrong.
///
/// The empty script is a service with an empty list, with which nothing goes wrong. As JSON, with the keys named here,
/// every one of which may be left out:
///
/// ```json
/// {
///   "tuples": [{"token": "00ff…", "time": 1700000000}, {"token": "", "time": 1700000001}],
///   "pieceLength": 5,
///   "fault": "truncates", "times": 1
/// }
/// ```
public struct FeedbackScript: Hashable, Sendable {
    /// `handshake`: how connections begin; without it, ``GatewayScript/Handshake/normal``.
    public var handshake = GatewayScript.Handshake.normal
    /// `tuples`: what stands on the list at first.
    public var tuples: [Tuple] = []
    /// `pieceLength`, at least 1: how many bytes each write has; without it, all are written at once.
    public var pieceLength: Int?
    /// `fault`: what goes wrong on a connection; without it, nothing.
    public var fault: Fault?
    /// `times`: on how many connections, the first ones, the fault happens; without it, on all.
    public var times: Int?

    /// One entry of the list, be it good or not.
    public struct Tuple: Hashable, Sendable {
        /// `time`: UNIX seconds.
        public var time: UInt32
        /// `token`, a hexadecimal string: 0 to 65,535 bytes. What is not 1 to 100 long is no device token.
        public var token: [UInt8]

        /// An entry. Of a token beyond 65,535 bytes the rest is left out.
        public init(time: UInt32, token: [UInt8]) {
            self.time = time
            self.token = Array(token.prefix(Int(UInt16.max)))
        }
    }

    /// What goes wrong. What was sent is off the list in any case, as at Apple's.
    public enum Fault: String, CaseIterable, Codable, Hashable, Sendable {
        /// `neverCloses`: the list is sent, and the connection stays open.
        case neverCloses
        /// `closesAtOnce`: the connection is closed, and the list is kept.
        case closesAtOnce
        /// `truncates`: the last byte of the last tuple is missing.
        case truncates
        /// `omitsCloseNotify`: the list is sent, and the stream ends without TLS close_notify.
        case omitsCloseNotify
        /// `resets`: the list is sent, and TCP's RST follows it.
        case resets
        /// `silent`: nothing is sent, the connection stays open, and the list is kept.
        case silent
    }

    /// A service whose list is empty.
    public init() {}

    /// A service with this list.
    public init(_ tuples: [Tuple], fault: Fault? = nil, times: Int? = nil) {
        self.tuples = tuples
        self.fault = fault
        self.times = times
    }
}

/// What a simulated feedback service does on one connection.
package struct FeedbackAnswer: Hashable, Sendable {
    /// How it ends the stream.
    package enum Ending: Hashable, Sendable {
        case closeNotify, endOfStream, reset, none
    }

    /// What it writes, one after the other.
    package var pieces: [[UInt8]]
    package var ending: Ending
    /// Whether the list is cleared.
    package var clears: Bool

    /// - Parameter fault: what goes wrong on this connection.
    package init(_ tuples: [FeedbackScript.Tuple], pieceLength: Int?, fault: FeedbackScript.Fault?) {
        var bytes = tuples.flatMap(\.bytes)
        self.clears = true
        switch fault {
        case nil: self.ending = .closeNotify
        case .neverCloses: self.ending = .none
        case .truncates:
            bytes = bytes.dropLast()
            self.ending = .closeNotify
        case .omitsCloseNotify: self.ending = .endOfStream
        case .resets: self.ending = .reset
        case .closesAtOnce, .silent:
            bytes = []
            self.ending = fault == .silent ? .none : .closeNotify
            self.clears = false
        }
        let step = max(pieceLength ?? bytes.count, 1)
        self.pieces = stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min($0 + step, bytes.count)]) }
    }
}

extension FeedbackScript.Tuple {
    /// As on the wire.
    fileprivate var bytes: [UInt8] {
        let length = UInt16(truncatingIfNeeded: self.token.count)
        return stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self.time >> UInt32($0)) }
            + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + self.token
    }
}
