package import FerryBinary
package import NIOCore

/// The server's end of one connection of the binary protocol, without I/O. It puts out notifications and faults; its
/// owner decides what to answer.
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
/// A connection ends with at most one error response. All bytes after the verdict are discarded, as Apple's gateway
/// did, even before the response is written.
package struct BinaryServerConnection: Sendable {
    private enum State {
        /// Notifications are read and judged.
        case serving(NotificationReader)
        /// The verdict is known, and its response is not written yet. A client that has ended its output can still read
        /// the response.
        case decided(inputHasEnded: Bool)
        /// The server writes nothing more. The client may end its side until then; nil: at any time.
        case ignoring(until: NIODeadline?)
        case closed
    }

    /// The next action of the owner on its channel.
    package enum Action: Hashable, Sendable {
        case none
        /// Write nothing more: send close_notify, then shut the output down. Continue to read, and call
        /// ``BinaryServerConnection/timePassed(at:)`` at that time.
        case closeOutput(until: NIODeadline)
        /// Close the connection in both directions.
        case close
    }

    private var state: State
    private let linger: TimeAmount
    /// Bytes that arrived after the verdict, or were not read before it.
    package private(set) var discardedBytes = 0

    /// - Parameters:
    ///   - decoder: which notifications are taken.
    ///   - linger: how long the server reads and discards bytes after its last write. Without this time the response
    ///     would be lost, because a socket that is closed with unread input resets the connection.
    package init(_ decoder: NotificationDecoder, linger: TimeAmount) {
        self.state = .serving(NotificationReader(decoder))
        self.linger = linger
    }

    /// Takes bytes from the client.
    ///
    /// - Parameter judge: gets each item, in order; see ``NotificationReader/read(_:_:)``. To end the connection,
    ///   return `stop`, and call ``decide()`` or ``end(at:)`` after this call.
    package mutating func received(
        _ bytes: consuming ByteBuffer,
        judge: (NotificationReader.Item, Span<UInt8>) -> NotificationReader.Next
    ) {
        guard case .serving(var reader) = self.state else {
            self.discardedBytes += bytes.readableBytes
            return
        }
        // The reader is moved out, so that its buffer has one owner. Otherwise the buffer would be copied.
        self.state = .closed
        reader.read(bytes, judge)
        self.state = .serving(reader)
    }

    /// Notes that the verdict is known and that ``end(at:)`` will follow. Bytes that arrive before it are discarded.
    package mutating func decide() {
        guard case .serving = self.state else { return }
        self.leaveServing(for: .decided(inputHasEnded: false))
    }

    /// Ends the output. The owner writes its error response, if it has one, before it does the action.
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

    /// Ends the output without a word: the connection stays open until the client ends it.
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

    /// Notes that the owner has closed or reset the connection.
    package mutating func closed() {
        self.leaveServing(for: .closed)
    }

    /// Notes that the client will send nothing more.
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

    /// Does what is due at the time of ``Action/closeOutput(until:)``. A call that is too early or repeated does no
    /// harm.
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
