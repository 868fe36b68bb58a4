internal import FerryCore
internal import NIOCore

/// The open channels of a ``Listener``, and the counts of its connections. Any thread may use this object.
///
/// ```
///              quiesce               close
///    serving ──────────▶ quiescing ─────────▶ closing
///        └─────────────────────────────────────▲
/// ```
final class OpenChannels: Sendable {
    private enum State {
        /// Connections come and go.
        case serving
        /// No new connection is accepted. The open connections were asked to end.
        case quiescing
        /// Every channel is being closed. A channel that is added now is refused.
        case closing
    }

    /// The relation of a channel to the listener.
    enum Kind {
        /// A connection that was accepted.
        case accepted
        /// A channel that belongs to an accepted connection.
        case attached
    }

    private struct Table {
        var state = State.serving
        var channels: [ObjectIdentifier: any Channel] = [:]
        var counts = ConnectionCounts()

        func takes(_ kind: Kind) -> Bool {
            switch self.state {
            case .serving: true
            case .quiescing: kind == .attached
            case .closing: false
            }
        }
    }

    private let table = Locked(Table())

    var counts: ConnectionCounts { self.table.withLock { $0.counts } }

    var openCount: Int { self.table.withLock { $0.channels.count } }

    func count(_ change: (inout ConnectionCounts) -> Void) {
        self.table.withLock { change(&$0.counts) }
    }

    /// Keeps a channel until it is closed.
    ///
    /// - Returns: the number of connections that were accepted so far.
    /// - Throws: `ChannelError.alreadyClosed` when the listener has stopped, or when it is quiescing and `kind` is
    ///   ``Kind/accepted``.
    @discardableResult
    func add(_ channel: any Channel, as kind: Kind) throws -> Int {
        let id = ObjectIdentifier(channel)
        let number: Int? = self.table.withLock { table in
            guard table.takes(kind) else { return nil }
            table.channels[id] = channel
            if kind == .accepted { table.counts.connections += 1 }
            return table.counts.connections
        }
        guard let number else { throw ChannelError.alreadyClosed }
        channel.closeFuture.whenComplete { _ in
            self.table.withLock { _ = $0.channels.removeValue(forKey: id) }
        }
        return number
    }

    /// Asks every open channel to end: its handlers get `ChannelShouldQuiesceEvent`.
    ///
    /// - Returns: a future for each channel, which completes when the channel has closed.
    func quiesce() -> [EventLoopFuture<Void>] {
        self.enter(.quiescing).map { channel in
            channel.eventLoop.execute { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
            return channel.closeFuture
        }
    }

    /// Closes every open channel without close_notify. Channels that are added later are refused.
    ///
    /// - Returns: a future for each channel, which completes when the channel has closed.
    func close() -> [EventLoopFuture<Void>] {
        self.enter(.closing).map { channel in
            channel.eventLoop.execute { SocketHandler.close(channel) }
            return channel.closeFuture
        }
    }

    private func enter(_ state: State) -> [any Channel] {
        self.table.withLock { table in
            switch (table.state, state) {
            case (.closing, .quiescing): break
            default: table.state = state
            }
            return Array(table.channels.values)
        }
    }
}
