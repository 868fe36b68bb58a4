internal import FerryCore
public import FerryPlatform

/// The behaviour of a ``SimulatedFeedback``: its list and its faults.
///
/// The empty script is a service with an empty list and without faults. In JSON, with the keys that the comments of the
/// properties begin with, every key is optional:
///
/// ```json
/// {
///   "tuples": [{"token": "00ff…", "time": 1700000000}, {"token": "", "time": 1700000001}],
///   "pieceLength": 5,
///   "fault": "truncates", "times": 1
/// }
/// ```
public struct FeedbackScript: Hashable, Sendable {
    /// `handshake`: how connections begin. The default is ``GatewayScript/Handshake/normal``.
    public var handshake = GatewayScript.Handshake.normal
    /// `tuples`: the list at the start.
    public var tuples: [Tuple] = []
    /// `pieceLength`, at least 1: the number of bytes of each write. Without it, the whole list is one write.
    public var pieceLength: Int?
    /// `fault`: the fault of a connection. Without it, there is no fault.
    public var fault: Fault?
    /// `times`: the fault happens on this many connections, the first ones. Without it, on every connection.
    public var times: Int?

    /// One entry of the list, valid or invalid.
    public struct Tuple: Hashable, Sendable {
        /// `time`: UNIX seconds, from 1970 to 2106.
        public var time: Date
        /// `token`, a hexadecimal string: 0 to 65,535 bytes. A valid device token has 1 to 100 bytes.
        public var token: [UInt8]

        /// Creates an entry. A token of more than 65,535 bytes is truncated.
        public init(time: Date, token: [UInt8]) {
            self.time = time
            self.token = Array(token.prefix(Int(UInt16.max)))
        }
    }

    /// The faults. As at Apple's service, entries that were sent leave the list even if there is a fault.
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

    /// Creates a script with an empty list.
    public init() {}

    /// Creates a script with this list and this fault.
    public init(_ tuples: [Tuple], fault: Fault? = nil, times: Int? = nil) {
        self.tuples = tuples
        self.fault = fault
        self.times = times
    }
}

/// The actions of a simulated feedback service on one connection.
package struct FeedbackAnswer: Hashable, Sendable {
    /// The end of the stream.
    package enum Ending: Hashable, Sendable {
        case closeNotify, endOfStream, reset, none
    }

    /// The bytes of each write, in order.
    package var pieces: [[UInt8]]
    package var ending: Ending
    /// True if the list is cleared.
    package var clears: Bool

    /// - Parameter fault: the fault of this connection.
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
    /// The entry's bytes on the wire.
    fileprivate var bytes: [UInt8] {
        let length = UInt16(truncatingIfNeeded: self.token.count)
        let time = UInt32(clamping: self.time.unixSeconds)
        return stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: time >> UInt32($0)) }
            + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + self.token
    }
}
