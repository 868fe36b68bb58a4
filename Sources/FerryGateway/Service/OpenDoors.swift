internal import FerryCore

/// The clients that may come through one listening address. A reload changes them while connections are open.
///
/// A client that asks for the server name of a door (SNI) comes through that door. Every other client comes through the
/// first door of the address.
final class OpenDoors: Sendable {
    private struct Doors {
        var first: GatewayClients?
        var named: [String: GatewayClients] = [:]
    }

    private let doors = Locked(Doors())

    init() {}

    /// - Parameter clients: the clients of the only door.
    init(_ clients: GatewayClients) { self.doors.withLock { $0.first = clients } }

    /// Takes the doors of a configuration. The first door is for clients without a known server name.
    func open(_ doors: [Gateway.Door]) {
        var open = Doors(first: doors.first?.clients)
        for door in doors {
            for name in door.serverNames { open.named[name.lowercased()] = door.clients }
        }
        self.doors.withLock { $0 = open }
    }

    /// Closes the address. After that, no client is known.
    func close() { self.doors.withLock { $0 = Doors() } }

    /// The identity of every client of the address; nil if the handshake has to decide, or the address is closed.
    var onlyIdentity: Int? { self.doors.withLock { $0.named.isEmpty ? $0.first?.onlyIdentity : nil } }

    /// The clients of a door; nil if the address is closed.
    ///
    /// - Parameter serverName: the name that the client asks for, in lower case.
    func clients(for serverName: String?) -> GatewayClients? {
        self.doors.withLock { doors in serverName.flatMap { doors.named[$0] } ?? doors.first }
    }
}
