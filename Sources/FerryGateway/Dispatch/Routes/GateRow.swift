internal import NIOCore

/// The rows of ``StoreTable/gates``: the gates that were warm, and the clients that use them. With the rows, a warm
/// gate stays warm over a restart.
///
/// ```
///   0, upstream's host and credential, 0, topic     the time of an acceptance, in UNIX seconds (4)
///   1, name of a client                             the key of the gate of its first topic
///   2, name of a client that a reload removed       the same
/// ```
///
/// At the next start, the second row shows whether a client has another host, credential or first topic. The client's
/// refused tokens may then be good. The third row lets the next process deliver the notifications of a removed
/// client.
enum GateRow {
    /// How long a gate stays warm after the last acceptance, in seconds.
    static let lifetime: UInt32 = 30 * 86_400

    /// The key of the gate of a route; nil if the route has no ``Route/upstreamKey``.
    static func key(of route: Route) -> [UInt8]? {
        route.upstreamKey.isEmpty ? nil : [0] + route.upstreamKey + [0] + route.topic
    }

    /// The upstream's host and credential, and the topic, in the key of a gate; nil if the bytes are no such key.
    static func parts(ofGate key: [UInt8]) -> (upstreamKey: [UInt8], topic: [UInt8])? {
        guard key.first == 0, let end = key.dropFirst().firstIndex(of: 0), end > 1, end + 1 < key.count else {
            return nil
        }
        return (Array(key[1..<end]), Array(key[(end + 1)...]))
    }

    static func key(ofClient name: String) -> [UInt8] { [1] + name.utf8 }

    static func key(ofRemoved name: String) -> [UInt8] { [2] + name.utf8 }

    static func warm(_ route: Route, now: UInt32) -> StoreChange? {
        self.key(of: route).map { StoreChange(.gates, key: $0, value: Array(buffer: ByteBuffer(integer: now))) }
    }

    /// The rows that are outdated. A gate's row is outdated after ``lifetime``. A client's row is outdated if the
    /// configuration does not name the client, and the row of the client's gate is outdated or missing. A removed
    /// client's row is outdated if the client is not in `left`.
    ///
    /// - Parameter left: the removed clients that still have notifications in the store.
    static func outdated(
        _ rows: [StoreRow],
        clients: some Sequence<String>,
        left: Set<String> = [],
        now: UInt32
    ) -> [StoreRow] {
        let gates = Set(rows.filter { $0.key.first == 0 && self.time($0.value, now: now) != nil }.map(\.key))
        let named = Set(clients.map { self.key(ofClient: $0) })
        return rows.filter { row in
            switch row.key.first {
            case 0: !gates.contains(row.key)
            case 1: !named.contains(row.key) && !gates.contains(row.value)
            case 2: !left.contains { self.key(ofRemoved: $0) == row.key }
            default: false
            }
        }
    }

    /// The time of an acceptance; nil if it is older than ``lifetime``, or if the value is no time.
    static func time(_ value: [UInt8], now: UInt32) -> UInt32? {
        var value = ByteBuffer(bytes: value)
        guard let time = value.readInteger(as: UInt32.self), time > now || now - time <= Self.lifetime else {
            return nil
        }
        return time
    }
}
