internal import FerryServer

/// A socket that listens, and the doors that clients reach through it.
struct ListenGroup: Hashable, Sendable {
    enum Service: Hashable, Sendable {
        case binary
        case feedback
    }

    /// The properties by which a reload finds a socket that is already open.
    struct Address: Hashable, Sendable {
        var service: Service
        var host: String
        /// The port; 0 if the system chooses the port.
        var port: Int
        /// The index among the sockets with this host and port. Only port 0 can have several sockets.
        var place = 0
        /// The descriptor that another process has passed; nil if this process binds the address.
        var descriptor: Int32?
    }

    var address: Address
    /// The indices of the doors in the configuration. The first door is for clients without a known server name.
    var doors: [Int]

    /// Returns the sockets of a configuration. Doors with the same address share a socket.
    ///
    /// A door with server names joins the last socket with its address. A door without names joins this socket, too.
    /// If the socket already has a door without names, the new door gets another socket. Only port 0 allows two such
    /// sockets.
    static func groups(of doors: [Gateway.Door]) -> [ListenGroup] {
        self.groups(of: doors, .binary) { $0.hasClients ? ($0.port, $0.passed) : nil }
            + self.groups(of: doors, .feedback) { door in
                if let port = door.feedbackPort { return (port, door.passedFeedback) }
                return door.passedFeedback.map { (0, $0) }
            }
    }

    private static func groups(
        of doors: [Gateway.Door],
        _ service: Service,
        _ place: (Gateway.Door) -> (port: Int, passed: PassedSocket?)?
    ) -> [ListenGroup] {
        var groups: [ListenGroup] = []
        for (index, door) in doors.enumerated() {
            guard let (port, passed) = place(door) else { continue }
            var address = Address(service: service, host: door.host, port: port, descriptor: passed?.descriptor)
            if passed != nil { (address.host, address.port) = ("", 0) }
            let known = groups.lastIndex { $0.address.isSame(as: address) }
            if let known, !door.serverNames.isEmpty || !groups[known].hasFirst(doors) {
                // The door without server names comes first.
                groups[known].doors.insert(index, at: door.serverNames.isEmpty ? 0 : groups[known].doors.count)
            } else {
                address.place = known.map { groups[$0].address.place + 1 } ?? 0
                groups.append(ListenGroup(address: address, doors: [index]))
            }
        }
        return groups
    }

    private func hasFirst(_ doors: [Gateway.Door]) -> Bool {
        self.doors.contains { doors[$0].serverNames.isEmpty }
    }
}

extension ListenGroup.Address {
    fileprivate func isSame(as other: Self) -> Bool {
        self.service == other.service && self.host == other.host && self.port == other.port
            && self.descriptor == other.descriptor
    }
}
