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
        let dial = self.connector.dial(on: self.eventLoop, logger: self.logger) { self.dialed(id, $0) }
        self.dials[id] = dial
        dial.start()
    }

    private func dialed(_ id: ConnectionID, _ result: Dial.Result) {
        self.dials[id] = nil
        switch result {
        case .established(let channel, let stack):
            self.connected(id, channel, stack)
        case .failed(let end):
            self.wire.ended(id, end, handed: 0, now: .now)
        }
        self.run()
    }

    private func connected(_ id: ConnectionID, _ channel: any Channel, _ stack: Dial.Stack) {
        guard let transport = stack.transport else { return channel.close(promise: nil) }
        let handler = ConnectionHandler(
            id: id,
            owner: self,
            transport: transport,
            tls: stack.tls,
            connector: self.connector
        )
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            channel.close(promise: nil)
            return self.wire.ended(id, .notConnected(self.connector.tls.error(error)), handed: 0, now: .now)
        }
        self.connections[id] = handler
        self.wire.connected(id, now: .now)
    }
}

extension ProviderDriver: ConnectionOwner where Wire: ~Copyable {
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
        self.wire.ended(connection.id, end, handed: connection.transport.handed, now: .now)
        self.run()
    }
}
