internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension GatewayDriver {
    /// How long a replaced or removed provider may wait for late answers. Notifications without an answer by that time
    /// may have arrived.
    private static let answerLimit: Duration = .seconds(300)
    /// The time between two checks of removed upstreams. A check asks whether the upstream has answered its last
    /// notification.
    private static let drainPause: TimeAmount = .seconds(1)

    /// The effect of a reload on the clients.
    struct Switched: Sendable {
        /// The number of connections that end.
        var ended: Int
        /// The number of notifications that each removed client has left, by the number of the client.
        var left: [(client: Int, count: Int)]
    }

    /// Switches to another configuration, in one turn of the event loop.
    ///
    /// - Parameters:
    ///   - upstreams: the new providers, by the numbers of their upstreams.
    ///   - open: opens and closes the doors of the listeners. The driver calls `open` after the switch of the tables,
    ///     and before it judges the open connections.
    func adopt(
        _ adoption: GatewayNumbers.Adoption,
        _ upstreams: [Int: GatewayUpstream],
        open: () -> Void
    ) -> Switched {
        self.rename(adoption.tables.identities)
        for (number, upstream) in upstreams.sorted(by: { $0.key < $1.key }) {
            if number < self.upstreams.count {
                upstream.watch.follow(self.upstreams[number].watch)
                self.leave(self.upstreams[number], successor: upstream.watch)
                self.upstreams[number] = upstream
            } else {
                self.upstreams.append(upstream)
            }
            self.listen(to: upstream.outcomes)
        }
        self.run { $0.adopt(adoption.tables, replaced: adoption.change.replaced, now: $1) }
        open()
        let ended = self.handlers.filter { id, handler in
            self.identity(of: id).map { $0 != handler.allowedIdentity } ?? false
        }
        self.run { $0.end(ended.keys.sorted { $0.rawValue < $1.rawValue }, now: $1) }
        // An upstream that the configuration names again has a new provider. The new provider must not be ended.
        self.draining.subtract(adoption.upstreams)
        self.draining.formUnion(adoption.change.left)
        self.checkDrained()
        return Switched(ended: ended.count, left: self.left(by: adoption.change.removed))
    }

    private func left(by clients: [Int]) -> [(client: Int, count: Int)] {
        clients.map { (client: $0, count: self.unanswered(of: $0)) }
    }

    // MARK: Providers that end

    /// Ends a provider after its last answer, or after ``answerLimit``.
    ///
    /// - Parameter successor: the watch of the new provider, which adds the counts of the ended provider to its own;
    ///   nil if no provider replaces the ended provider.
    private func leave(_ upstream: GatewayUpstream, successor: UpstreamWatch? = nil) {
        self.lastLeaving += 1
        let number = self.lastLeaving
        self.leaving[number] = upstream
        let eventLoop = self.eventLoop
        Task {
            _ = await upstream.provider.shutDown(within: Self.answerLimit)
            eventLoop.execute {
                successor?.absorb()
                self.leaving[number] = nil
            }
        }
    }

    /// Ends the providers of upstreams that the configuration no longer names, after their last notification.
    private func checkDrained() {
        guard !self.isFinished else { return }
        for number in self.draining where self.isDrained(number) {
            self.draining.remove(number)
            self.leave(self.upstreams[number])
        }
        guard !self.draining.isEmpty else { return }
        self.drainCheck?.cancel()
        self.drainCheck = self.eventLoop.scheduleTask(in: Self.drainPause) { self.checkDrained() }
    }
}
