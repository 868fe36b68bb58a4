package import NIOCore

/// The server's end of one connection of the binary protocol, without I/O and without an opinion: notifications and
/// faults come out, verdicts come in.
///
/// ```
///    ┌─────────┐ decide   ┌─────────┐
///    │ serving │─────────▶│ decided │
///    └─────────┘          └─────────┘
///      │     │ end, ignore     │  │
///      │     └────────┬────────┘  │
///      │              ▼           │
///      │         ┌──────────┐     │
///      │         │ ignoring │     │
///      │         └──────────┘     │
///      │ end of       │ end of    │ end, ignore: after the end of input
///      │ input        │ input, or linger is over
///      ▼              ▼           ▼
///    ┌──────────────────────────────┐
///    │            closed            │
///    └──────────────────────────────┘
/// ```
///
/// A connection ends with at most one error response. From the verdict on everything that arrives is discarded, as
/// Apple's gateway did, also while the response is still on its way.
package struct BinaryServerConnection: Sendable {
    private enum State {
        /// Notifications are read and judged.
        case serving(NotificationReader)
        /// The verdict has fallen, and its response is not written yet. A client that has ended its output can still
        /// read it.
        case decided(inputHasEnded: Bool)
        /// The server has nothing more to say; the client may still end its side, until then. Nil: for ever.
        case ignoring(until: NIODeadline?)
        case closed
    }

    /// What the owner does with its channel.
    package enum Action: Hashable, Sendable {
        case none
        /// Say that nothing more will be written: close_notify, then a shutdown of the output. Read on, and call
        /// ``BinaryServerConnection/timePassed(at:)`` at that time.
        case closeOutput(until: NIODeadline)
        /// Close the connection in both directions.
        case close
    }

    private var state: State
    private let linger: TimeAmount
    /// Bytes that arrived and were not read, because the verdict had fallen.
    package private(set) var discardedBytes = 0

    /// - Parameters:
    ///   - decoder: which notifications are taken.
    ///   - linger: how long what the client still sends is read and discarded after the last word. A socket that is
    ///     closed with unread input resets the connection, and the response would be lost.
    package init(_ decoder: NotificationDecoder, linger: TimeAmount) {
        self.state = .serving(NotificationReader(decoder))
        self.linger = linger
    }

    /// Bytes arrived.
    ///
    /// - Parameter judge: gets what was found, in order; see ``NotificationReader/read(_:_:)``. Who decides the end of
    ///   the connection stops the reading, and calls ``decide()`` or ``end(at:)`` after this.
    package mutating func received(
        _ bytes: consuming ByteBuffer,
        judge: (NotificationReader.Item, Span<UInt8>) -> NotificationReader.Next
    ) {
        guard case .serving(var reader) = self.state else {
            self.discardedBytes += bytes.readableBytes
            return
        }
        // Moved out, so that its buffer has one owner and is not copied.
        self.state = .closed
        reader.read(bytes, judge)
        self.state = .serving(reader)
    }

    /// The last word is known, and will be said later by ``end(at:)``. What arrives meanwhile is discarded.
    package mutating func decide() {
        guard case .serving = self.state else { return }
        self.leaveServing(for: .decided(inputHasEnded: false))
    }

    /// The owner writes its last word now, or has none: an error response, if any, goes out before the action is done.
    package mutating func end(at now: NIODeadline) -> Action {
        switch self.state {
        case .decided(inputHasEnded: true):
            self.state = .closed
            return .close
        case .serving, .decided(inputHasEnded: false):
            let until = now + self.linger
            self.leaveServing(for: .ignoring(until: until))
            return .closeOutput(until: until)
        case .ignoring, .closed:
            return .none
        }
    }

    /// Nothing more will be said, and the connection stays open until the client ends it.
    package mutating func ignore() -> Action {
        switch self.state {
        case .decided(inputHasEnded: true):
            self.state = .closed
            return .close
        case .serving, .decided(inputHasEnded: false):
            self.leaveServing(for: .ignoring(until: nil))
            return .none
        case .ignoring, .closed:
            return .none
        }
    }

    /// The owner has closed or reset the connection.
    package mutating func closed() {
        self.leaveServing(for: .closed)
    }

    /// The client will send nothing more.
    package mutating func inputClosed() -> Action {
        switch self.state {
        case .serving, .ignoring:
            self.state = .closed
            return .close
        case .decided:
            self.state = .decided(inputHasEnded: true)
            return .none
        case .closed:
            return .none
        }
    }

    /// A time that ``Action/closeOutput(until:)`` named has come. Too early or too often does no harm.
    package mutating func timePassed(at now: NIODeadline) -> Action {
        guard case .ignoring(let until?) = self.state, until <= now else { return .none }
        self.state = .closed
        return .close
    }

    private mutating func leaveServing(for state: State) {
        if case .serving(let reader) = self.state { self.discardedBytes += reader.pendingBytes }
        self.state = state
    }
}
