internal import FerryCore
internal import FerryMachine
internal import Logging
internal import NIOCore

/// The driver of a machine with connections: makes them, closes them, and gets their reports. Everything is used on the
/// event loop.
protocol ConnectionOwner: AnyObject, Sendable {
    var loop: MachineLoop { get }
    var logger: Logger { get }
    var connections: [ConnectionID: ConnectionHandler] { get set }
    /// The connections that are being made.
    var dials: [ConnectionID: Dial] { get set }

    /// Returns the connector that makes a connection.
    func connector(of id: ConnectionID) -> ProviderConnector
    /// Tells the machine that a connection is established.
    func connected(_ id: ConnectionID)
    /// Tells the machine that a connection has ended, or could not be made.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64)
    /// Does all work that is possible now.
    func run()

    func received(_ bytes: ByteBuffer, on connection: ConnectionHandler)
    func writabilityChanged(_ connection: ConnectionHandler)
}

extension ConnectionOwner {
    /// Makes a connection.
    func dial(_ id: ConnectionID) {
        // After the loop has ended, the machine is abandoned next, so a new connection would be useless.
        guard !self.loop.hasLoopEnded else { return }
        self.logger.debug("connecting", metadata: ["apns.connection": "\(id.rawValue)"])
        let dial = self.connector(of: id).dial(on: self.loop.eventLoop, logger: self.logger) { self.dialed(id, $0) }
        self.dials[id] = dial
        dial.start()
    }

    /// Closes a connection at once, or stops making it. Nothing is reported after this.
    func close(_ id: ConnectionID) {
        self.dials.removeValue(forKey: id)?.cancel()
        self.connections.removeValue(forKey: id)?.abort()
    }

    /// Called once by a connection. Not called after ``ConnectionHandler/abort()``.
    func ended(_ connection: ConnectionHandler, _ end: ConnectionEnd) {
        guard self.connections[connection.id] === connection else { return }
        self.connections[connection.id] = nil
        self.ended(connection.id, end, handed: connection.transport.handed)
        self.run()
    }

    private func dialed(_ id: ConnectionID, _ result: Dial.Result) {
        self.dials[id] = nil
        switch result {
        case .established(let channel, let stack): self.connected(id, channel, stack)
        case .failed(let end): self.ended(id, end, handed: 0)
        }
        self.run()
    }

    private func connected(_ id: ConnectionID, _ channel: any Channel, _ stack: Dial.Stack) {
        guard let transport = stack.transport else { return channel.close(promise: nil) }
        let connector = self.connector(of: id)
        let handler = ConnectionHandler(
            id: id,
            owner: self,
            transport: transport,
            tls: stack.tls,
            connector: connector
        )
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            channel.close(promise: nil)
            return self.ended(id, .notConnected(connector.tls.error(error)), handed: 0)
        }
        self.connections[id] = handler
        self.connected(id)
    }
}
