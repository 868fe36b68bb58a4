/// What two sides said to each other over one or more connections, as a readable text file has it.
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
/// The bytes are those above TLS. `Docs/transcripts.md` describes the format.
public struct Transcript: Sendable, Hashable {
    /// Which of the two services of the binary protocol is spoken.
    @nonexhaustive
    public enum Service: String, Sendable, Hashable, CaseIterable {
        /// Notifications, port 2195.
        case gateway
        /// The list of devices that are gone, port 2196.
        case feedback
    }

    /// Who does something.
    @nonexhaustive
    public enum Side: Character, Sendable, Hashable, CaseIterable {
        /// The one that connects: a provider.
        case client = ">"
        /// The one that is connected to: the gateway or the feedback service.
        case server = "<"

        /// The other one.
        public var peer: Side { self == .client ? .server : .client }
    }

    /// What one side did.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The client's connection is established. A connection opens by itself when this is missing.
        case open
        /// Bytes were sent. How they are cut into events has no meaning but for the time.
        case bytes([UInt8])
        /// Nothing more will be sent; reading goes on.
        case halfClose
        /// Nothing more will be sent or read.
        case end
        /// The connection was aborted, by TCP's RST.
        case reset
    }

    /// One line.
    public struct Event: Sendable, Hashable {
        /// Since the beginning of the transcript. Never before that of the line before.
        public var time: Duration
        /// The number of the connection, from 1.
        public var connection: Int
        /// Who did it.
        public var sender: Side
        /// What was done.
        public var kind: Kind
        /// What stands behind `#`.
        public var comment: String?
        /// Where the event stands in its file, from 1; 0 when it comes from none.
        public var line: Int

        /// An event that comes from no file.
        public init(_ time: Duration, _ sender: Side, _ kind: Kind, connection: Int = 1, comment: String? = nil) {
            self.time = time
            self.connection = connection
            self.sender = sender
            self.kind = kind
            self.comment = comment
            self.line = 0
        }
    }

    /// A line `name: value` above the events. Ferry reads `service`; others are the user's own.
    public struct Header: Sendable, Hashable {
        /// What stands before the colon: letters, digits and `-`.
        public var name: String
        /// What stands behind it, without the spaces around it.
        public var value: String

        /// A header. It must be one line.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Which service is spoken.
    public var service: Service
    /// All headers but `service`, in their order.
    public var headers: [Header]
    /// What happened, in the order of time.
    public var events: [Event]

    /// A transcript of what a program knows.
    public init(service: Service = .gateway, headers: [Header] = [], events: [Event] = []) {
        self.service = service
        self.headers = headers
        self.events = events
    }

    /// The value of the first header of that name.
    public subscript(header name: String) -> String? {
        self.headers.first { $0.name == name }?.value
    }

    /// The numbers of the connections, in the order in which they were opened.
    public var connections: [Int] {
        var seen: Set<Int> = []
        return self.events.map(\.connection).filter { seen.insert($0).inserted }
    }

    /// The events of one connection, in their order.
    public func events(of connection: Int) -> [Event] {
        self.events.filter { $0.connection == connection }
    }
}
