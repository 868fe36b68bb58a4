/// A readable text file of everything that the two sides of one or more connections sent.
///
/// ```
/// ferry transcript 1
/// service: gateway
///
/// 0.000000 1> open
/// 0.000310 1> bytes 0200000029 0300040000000a …   # notification, command 2, identifier 10, …
/// 0.050120 1< bytes 08080000000a                  # error response, status 8, identifier 10
/// 0.050140 1< half-close
/// 0.051000 1> end
/// ```
///
/// The bytes are the plaintext above TLS. `Docs/commands/replay.md` describes the format.
public struct Transcript: Sendable, Hashable {
    /// The two services of the binary protocol.
    @nonexhaustive
    public enum Service: String, Sendable, Hashable, CaseIterable {
        /// Notifications, port 2195.
        case gateway
        /// The feedback list: devices on which the app is gone, port 2196.
        case feedback
    }

    /// The two sides of a connection.
    @nonexhaustive
    public enum Side: Character, Sendable, Hashable, CaseIterable {
        /// The side that connects: a provider.
        case client = ">"
        /// The side that accepts: the gateway or the feedback service.
        case server = "<"

        /// The other side.
        public var peer: Side { self == .client ? .server : .client }
    }

    /// The actions of a side.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The client's connection is established. Without this event, the first event of a connection opens it.
        case open
        /// Bytes were sent. Their division into events matters only for the times.
        case bytes([UInt8])
        /// The side sends nothing more. It still reads.
        case halfClose
        /// The side sends and reads nothing more.
        case end
        /// The side aborted the connection with TCP's RST.
        case reset
    }

    /// One line of a transcript.
    public struct Event: Sendable, Hashable {
        /// The time since the beginning of the transcript. Never earlier than the time of the previous event.
        public var time: Duration
        /// The number of the connection, from 1.
        public var connection: Int
        /// The side that acted.
        public var sender: Side
        /// The action.
        public var kind: Kind
        /// The text after `#`.
        public var comment: String?
        /// The line number of the event in its file, from 1; 0 if it was not read from a file.
        public var line: Int

        /// Creates an event that was not read from a file.
        public init(_ time: Duration, _ sender: Side, _ kind: Kind, connection: Int = 1, comment: String? = nil) {
            self.time = time
            self.connection = connection
            self.sender = sender
            self.kind = kind
            self.comment = comment
            self.line = 0
        }
    }

    /// A line `name: value` above the events. Ferry reads `service`; all others are the user's.
    public struct Header: Sendable, Hashable {
        /// The text before the colon: letters, digits and `-`.
        public var name: String
        /// The text after the colon, without the spaces around it.
        public var value: String

        /// Creates a header. Name and value must not contain a line break.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The service of all connections.
    public var service: Service
    /// All headers except `service`, in the order of the file.
    public var headers: [Header]
    /// All events, in the order of time.
    public var events: [Event]

    /// Creates a transcript from its parts.
    public init(service: Service = .gateway, headers: [Header] = [], events: [Event] = []) {
        self.service = service
        self.headers = headers
        self.events = events
    }

    /// The value of the first header with that name.
    public subscript(header name: String) -> String? {
        self.headers.first { $0.name == name }?.value
    }

    /// The numbers of the connections, in the order of their opening.
    public var connections: [Int] {
        var seen: Set<Int> = []
        return self.events.map(\.connection).filter { seen.insert($0).inserted }
    }

    /// The events of one connection, in their order.
    public func events(of connection: Int) -> [Event] {
        self.events.filter { $0.connection == connection }
    }
}
