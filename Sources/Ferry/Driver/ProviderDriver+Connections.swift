internal import FerryCore
internal import FerryMachine
internal import Logging
internal import NIOCore

/// The connections: made, passed on from and to the wire, and closed.
extension ProviderDriver where Wire: ~Copyable {
    func carryOut(_ step: WireStep) {
        switch step {
        case .dial(let id): self.dial(id)
        case .close(let id):
            self.dials.removeValue(forKey: id)?.cancel()
            self.connections.removeValue(forKey: id)?.abort()
        case .finish(let id): self.connections[id]?.finish()
        case .sample(let id):
            self.connections[id]?.transport.sample { self.wire.sampled(id, $0, now: .now) }
        }
    }

    private func dial(_ id: ConnectionID) {
        // Then the wire is abandoned next.
        guard !self.hasLoopEnded else { return }
        self.logger.debug("connecting", metadata: ["apns.connection": "\(id.rawValue)"])
        self.dials[id] = self.eventLoop.assumeIsolated().scheduleTask(in: self.connector.connectTimeout) {
            // Said before the channel is closed, which would fail for a reason that is none.
            let connection = self.connections.removeValue(forKey: id)
            self.notConnected(id, self.connector.timedOut(connection))
            connection?.abort()
        }
        self.connector.connect(id, for: self).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.dialed(id, channel)
            case .failure(let error): self.notConnected(id, self.connector.unreachable(error))
            }
        }
    }

    /// TCP is up. A host with several addresses has several channels on the way: this is the one that came first.
    private func dialed(_ id: ConnectionID, _ channel: any Channel) {
        let handler = try? channel.pipeline.syncOperations.handler(type: ConnectionHandler.self)
        guard let handler, channel.isActive else {
            return self.notConnected(id, self.connector.unreachable(ChannelError.eof))
        }
        guard self.isDialing(id) else { return handler.abort() }
        self.connections[id] = handler
    }

    /// Reports a failure once; the machine ignores connections that it has given up.
    private func notConnected(_ id: ConnectionID, _ error: ProviderError) {
        self.dials.removeValue(forKey: id)?.cancel()
        self.wire.ended(id, .notConnected(error), handed: 0, now: .now)
        self.run()
    }
}

extension ProviderDriver: ConnectionOwner where Wire: ~Copyable {
    func isDialing(_ id: ConnectionID) -> Bool { self.dials[id] != nil }

    func connected(_ connection: ConnectionHandler) {
        guard self.connections[connection.id] === connection else { return }
        self.dials.removeValue(forKey: connection.id)?.cancel()
        self.wire.connected(connection.id, now: .now)
        self.run()
    }

    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler) {
        self.wire.received(connection.id, bytes, handed: connection.transport.handed, now: .now)
        self.run()
    }

    func writabilityChanged(_ connection: ConnectionHandler) {
        self.wire.writability(connection.id, isWritable: connection.isWritable)
        self.run()
    }

    func ended(_ connection: ConnectionHandler, _ end: ConnectionEnd) {
        guard self.connections[connection.id] === connection else { return }
        self.connections[connection.id] = nil
        self.dials.removeValue(forKey: connection.id)?.cancel()
        self.wire.ended(connection.id, end, handed: connection.transport.handed, now: .now)
        self.run()
    }
}
