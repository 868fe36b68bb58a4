internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The connections of the driver, and the steps of the machine that concern them.
extension ProviderDriver: ConnectionOwner where Machine: ~Copyable {
    func carryOut(_ step: ConnectionStep) {
        switch step {
        case .dial(let id): self.dial(id)
        case .close(let id): self.close(id)
        case .finish(let id): self.connections[id]?.finish()
        case .sample(let id):
            self.connections[id]?.transport.sample { self.machine.sampled(id, $0, now: .now) }
        case .refused(let reason, let token): self.refused(reason, token)
        }
    }

    func connector(of id: ConnectionID) -> ProviderConnector { self.connector(id) }

    func connected(_ id: ConnectionID) { self.machine.connected(id, now: .now) }

    func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64) {
        self.machine.ended(id, end, handed: handed, now: .now)
    }

    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler) {
        self.noteReplacedKey()
        self.machine.received(connection.id, bytes, handed: connection.transport.handed, now: .now)
        self.run()
    }

    func writabilityChanged(_ connection: ConnectionHandler) {
        self.machine.writability(connection.id, isWritable: connection.isWritable)
        self.run()
    }
}
