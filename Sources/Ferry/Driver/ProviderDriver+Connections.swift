internal import FerryCore
internal import FerryMachine
internal import Logging
internal import NIOCore

/// The connections of the driver: makes them, closes them, and carries events between them and the machine.
extension ProviderDriver where Machine: ~Copyable {
    func carryOut(_ step: ConnectionStep) {
        switch step {
        case .dial(let id): self.dial(id)
        case .close(let id):
            self.dials.removeValue(forKey: id)?.cancel()
            self.connections.removeValue(forKey: id)?.abort()
        case .finish(let id): self.connections[id]?.finish()
        case .sample(let id):
            self.connections[id]?.transport.sample { self.machine.sampled(id, $0, now: .now) }
        case .refused(let reason, let token): self.refused(reason, token)
        }
    }

    private func dial(_ id: ConnectionID) {
        // After the loop has ended, the machine is abandoned next, so a new connection would be useless.
        guard !self.loop.hasLoopEnded else { return }
        self.logger.debug("connecting", metadata: ["apns.connection": "\(id.rawValue)"])
        let dial = self.connector(id).dial(on: self.eventLoop, logger: self.logger) { self.dialed(id, $0) }
        self.dials[id] = dial
        dial.start()
    }

    private func dialed(_ id: ConnectionID, _ result: Dial.Result) {
        self.dials[id] = nil
        switch result {
        case .established(let channel, let stack):
            self.connected(id, channel, stack)
        case .failed(let end):
            self.machine.ended(id, end, handed: 0, now: .now)
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
            connector: self.connector(id)
        )
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            channel.close(promise: nil)
            return self.machine.ended(id, .notConnected(self.connector(id).tls.error(error)), handed: 0, now: .now)
        }
        self.connections[id] = handler
        self.machine.connected(id, now: .now)
    }
}

extension ProviderDriver: ConnectionOwner where Machine: ~Copyable {
    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler) {
        self.noteReplacedKey()
        self.machine.received(connection.id, bytes, handed: connection.transport.handed, now: .now)
        self.run()
    }

    func writabilityChanged(_ connection: ConnectionHandler) {
        self.machine.writability(connection.id, isWritable: connection.isWritable)
        self.run()
    }

    func ended(_ connection: ConnectionHandler, _ end: ConnectionEnd) {
        guard self.connections[connection.id] === connection else { return }
        self.connections[connection.id] = nil
        self.machine.ended(connection.id, end, handed: connection.transport.handed, now: .now)
        self.run()
    }
}
