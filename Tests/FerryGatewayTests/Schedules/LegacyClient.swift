import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway

/// A model of an old client, with its network, against a ``GatewayScenario``.
final class LegacyClient {
    /// The habits that differ between old clients.
    struct Manner {
        var readsResponses = true
        var resends = true
        var cacheLength = 1000
        /// Whether notifications have different identifiers.
        var numbers = true
        /// Whether the client resets the connection when it reads an error response, so that bytes on their way are
        /// destroyed.
        var resetsOnResponse = false
        /// How long the caller waits before it sends again.
        var resendDelay: TimeAmount = .zero
        /// How far a notification may move when it is sent again.
        var shuffle = 0
        var sockets = 1
        /// The notifications after which the client closes a connection, and opens another for the next one.
        var socketLength: UInt32 = .max
        /// Whether the program ends after its last notification.
        var exits = false
        var roundTrip: TimeAmount = .milliseconds(20)
        /// Whether a balancer hides the round trip, and nothing else shows it.
        var isHidden = false
        /// The notifications that the network carries in one flight; each flight is twice the one before.
        var firstFlight = 1_000_000
        /// The time between two notifications on the wire.
        var spacing: TimeAmount = .microseconds(10)

        var oneWay: TimeAmount { .nanoseconds(self.roundTrip.nanoseconds / 2) }
    }

    private final class Socket {
        let id: UInt64
        var cache: [(identifier: UInt32, name: UInt32)] = []
        var nextIdentifier: UInt32 = 1
        var isDead = false
        /// The client has gone: bytes that reach it are answered with a reset.
        var isClosed = false
        var isReset = false
        var arrivesAt: NIODeadline
        var flight: Int
        var inFlight = 0

        init(_ id: UInt64, connectedAt: NIODeadline, flight: Int) {
            self.id = id
            self.arrivesAt = connectedAt
            self.flight = flight
        }
    }

    private let scenario: GatewayScenario
    private let manner: Manner
    private var generator: SplitMix64
    private var sockets: [UInt64: Socket] = [:]
    private var live: [UInt64] = []
    private var turn = 0
    private var hasExited = false
    private(set) var blamed: [UInt32] = []
    /// What was written and destroyed by a reset that the gateway caused.
    private(set) var destroyed: [UInt32] = []
    private(set) var writes = 0

    init(_ scenario: GatewayScenario, _ manner: Manner, seed: UInt64) {
        self.scenario = scenario
        self.manner = manner
        self.generator = SplitMix64(seed: seed)
        scenario.roundTrip = manner.isHidden ? .microseconds(200) : manner.roundTrip
        scenario.onLastWord = { [weak self] connection, response in self?.lastWord(connection, response) }
        scenario.onClose = { [weak self] connection in self?.closed(connection) }
    }

    func push(_ name: UInt32) {
        guard !self.hasExited else { return }
        self.write(name, on: self.socket())
    }

    /// Ends the program: everything that was written still goes out, then the end of the stream.
    func exit() {
        self.hasExited = true
        for socket in self.live.compactMap({ self.sockets[$0] }) { self.close(socket) }
    }

    private func socket() -> Socket {
        if self.live.count < self.manner.sockets {
            let id = self.scenario.connect()
            let roundTrips = self.manner.roundTrip + self.manner.roundTrip
            let socket = Socket(
                id,
                connectedAt: self.scenario.now + roundTrips,
                flight: self.manner.firstFlight
            )
            self.sockets[id] = socket
            self.live.append(id)
            return socket
        }
        self.turn += 1
        let id = self.live[self.turn % self.live.count]
        guard let socket = self.sockets[id] else { preconditionFailure("a live socket exists") }
        return socket
    }

    private func write(_ name: UInt32, on socket: Socket) {
        let identifier = self.manner.numbers ? socket.nextIdentifier : 0
        socket.nextIdentifier += 1
        socket.cache.append((identifier, name))
        if socket.cache.count > self.manner.cacheLength { socket.cache.removeFirst() }
        self.writes += 1
        socket.inFlight += 1
        if socket.inFlight > socket.flight {
            socket.arrivesAt = socket.arrivesAt + self.manner.roundTrip
            socket.flight *= 2
            socket.inFlight = 1
        }
        socket.arrivesAt = max(socket.arrivesAt, self.scenario.now + self.manner.oneWay) + self.manner.spacing
        self.arrive(name, identifier, socket)
        if socket.nextIdentifier > self.manner.socketLength { self.close(socket) }
    }

    /// Closes a socket: what was written still goes out, and then the end of the stream.
    private func close(_ socket: Socket) {
        socket.isClosed = true
        self.live.removeAll { $0 == socket.id }
        self.scenario.at(socket.arrivesAt) { self.scenario.end(socket.id) }
    }

    private func arrive(_ name: UInt32, _ identifier: UInt32, _ socket: Socket) {
        self.scenario.at(socket.arrivesAt) {
            guard !socket.isReset else { return self.destroyed.append(name) }
            self.scenario.push(name, identifier, on: socket.id)
        }
    }

    // MARK: What the gateway does

    private func lastWord(_ connection: UInt64, _ response: ErrorResponse?) {
        guard let socket = self.sockets[connection] else { return }
        self.scenario.at(self.scenario.now + self.manner.oneWay) {
            guard !socket.isClosed else {
                // Nobody reads any more: the reset destroys the rest.
                socket.isReset = true
                self.scenario.at(self.scenario.now + self.manner.oneWay) { self.scenario.reset(connection) }
                return
            }
            guard self.manner.readsResponses, !socket.isDead else { return }
            self.abandon(socket)
            guard let response else { return }
            var rest = socket.cache[...]
            if let index = rest.firstIndex(where: { $0.identifier == response.identifier }) {
                if response.status != .shutdown { self.blamed.append(rest[index].name) }
                rest = rest[(index + 1)...]
            }
            guard self.manner.resends else { return }
            self.scenario.at(self.scenario.now + self.manner.resendDelay) {
                for name in self.reordered(rest.map(\.name)) { self.push(name) }
            }
        }
    }

    private func closed(_ connection: UInt64) {
        self.scenario.at(self.scenario.now + self.manner.oneWay) {
            self.sockets[connection]?.isDead = true
            self.live.removeAll { $0 == connection }
        }
    }

    /// Gives a socket up, with what is on its way or without.
    private func abandon(_ socket: Socket) {
        socket.isDead = true
        socket.isClosed = true
        self.live.removeAll { $0 == socket.id }
        if self.manner.resetsOnResponse {
            socket.isReset = true
            self.scenario.at(self.scenario.now + self.manner.oneWay) { self.scenario.reset(socket.id) }
        } else {
            let end = max(socket.arrivesAt, self.scenario.now + self.manner.oneWay)
            self.scenario.at(end) { self.scenario.end(socket.id) }
        }
    }

    private func reordered(_ names: [UInt32]) -> [UInt32] {
        guard self.manner.shuffle > 0 else { return names }
        let reach = UInt32(self.manner.shuffle)
        let places = names.indices.map { ($0 + Int(UInt32.random(in: 0...reach, using: &self.generator)), names[$0]) }
        return places.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
