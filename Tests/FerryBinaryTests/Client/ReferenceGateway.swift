import FerryCore
import FerryBinary
import NIOCore

/// A gateway in the simplest terms: what Apple documented, and what gateways were seen to do wrong.
///
/// It shares nothing with the client but the decoder of frames.
struct ReferenceGateway {
    /// How it misbehaves. A notification is known by the first four bytes of its token.
    struct Rules {
        /// Notifications that it refuses, with the status.
        var bad: [UInt32: UInt8] = [:]
        /// Notifications on which it closes without a word.
        var poison: Set<UInt32> = []
        /// It answers with identifier 0 instead of the notification's.
        var hidesIdentifier = false
        /// It answers with an identifier that it never saw.
        var inventsIdentifier = false
        /// It writes this many bytes of an error response, then closes.
        var responseLength = 6
        /// After this many notifications on a connection, it shuts down with status 10.
        var shutdownAfter: Int?
        /// After this many notifications on a connection, it closes without a word.
        var closeAfter: Int?
        /// It confirms this often with status 0.
        var confirmsEvery: Int?
        /// It writes this instead of what it should.
        var babble: [UInt8]?
    }

    enum Reply: Equatable {
        case bytes([UInt8])
        case close
    }

    /// What it wants said, and how much later.
    struct Event: Equatable {
        var reply: Reply
        var isDelayed: Bool
    }

    private let rules: Rules
    private var buffer = ByteBuffer()
    private var accepted = 0
    private var lastAccepted: UInt32 = 0
    /// After its last word it discards everything, as Apple's did.
    private(set) var isDeaf = false
    /// What it read and did not accept.
    private(set) var discarded: Set<UInt32> = []

    init(rules: Rules) {
        self.rules = rules
    }

    /// Reads bytes; returns what it accepted and what it wants to say.
    mutating func read(_ bytes: [UInt8]) -> (accepted: [UInt32], events: [Event]) {
        self.buffer.writeBytes(bytes)
        defer { if self.isDeaf { self.discard() } }
        var tokens: [UInt32] = []
        var events: [Event] = []
        while !self.isDeaf {
            switch NotificationDecoder().decode(self.buffer.readableBytesSpan, at: 0) {
            case .needMore:
                return (tokens, events)
            case .violation:
                events += self.last([.init(reply: .close, isDelayed: false)])
            case .refused(let refusal):
                self.buffer.moveReaderIndex(forwardBy: refusal.length)
                events += self.refuse(refusal.status.rawValue, refusal.identifier ?? 0)
            case .notification(let frame):
                let token = self.buffer.readerIndex + frame.token.lowerBound
                let name = self.buffer.getInteger(at: token, as: UInt32.self) ?? 0
                self.buffer.moveReaderIndex(forwardBy: frame.length)
                let identifier = frame.identifier ?? 0
                if self.rules.poison.contains(name) {
                    self.discarded.insert(name)
                    events += self.last([.init(reply: .close, isDelayed: true)])
                } else if let status = self.rules.bad[name] {
                    self.discarded.insert(name)
                    events += self.refuse(status, identifier)
                } else {
                    tokens.append(name)
                    self.accepted += 1
                    self.lastAccepted = identifier
                    events += self.afterAccepting()
                }
            }
        }
        return (tokens, events)
    }

    private mutating func discard() {
        while case .notification(let frame) = NotificationDecoder().decode(self.buffer.readableBytesSpan, at: 0) {
            let token = self.buffer.readerIndex + frame.token.lowerBound
            self.discarded.insert(self.buffer.getInteger(at: token, as: UInt32.self) ?? 0)
            self.buffer.moveReaderIndex(forwardBy: frame.length)
        }
    }

    private mutating func afterAccepting() -> [Event] {
        if let every = self.rules.confirmsEvery, self.accepted.isMultiple(of: every) {
            return [.init(reply: .bytes(Self.response(0, self.lastAccepted)), isDelayed: true)]
        }
        if self.accepted == self.rules.shutdownAfter {
            return self.last([
                .init(reply: .bytes(Self.response(10, self.lastAccepted)), isDelayed: true),
                .init(reply: .close, isDelayed: true),
            ])
        }
        if self.accepted == self.rules.closeAfter {
            return self.last([.init(reply: .close, isDelayed: true)])
        }
        return []
    }

    private mutating func refuse(_ status: UInt8, _ identifier: UInt32) -> [Event] {
        if let babble = self.rules.babble {
            return self.last([
                .init(reply: .bytes(babble), isDelayed: true), .init(reply: .close, isDelayed: true),
            ])
        }
        var named = identifier
        if self.rules.hidesIdentifier { named = 0 }
        if self.rules.inventsIdentifier { named = identifier &+ 1_000_000 }
        let response = Array(Self.response(status, named).prefix(self.rules.responseLength))
        return self.last([
            .init(reply: .bytes(response), isDelayed: true), .init(reply: .close, isDelayed: true),
        ])
    }

    private mutating func last(_ events: [Event]) -> [Event] {
        self.isDeaf = true
        return events
    }

    private static func response(_ status: UInt8, _ identifier: UInt32) -> [UInt8] {
        [8, status] + (0..<4).map { UInt8(truncatingIfNeeded: identifier >> (24 - 8 * $0)) }
    }
}
