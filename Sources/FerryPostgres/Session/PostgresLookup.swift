internal import FerryCore
internal import FerryPlatform
internal import NIOPosix

/// The look-up of a host's name. The system's resolver has no deadline, so it runs on a thread of its own. All sessions
/// of the process share the look-up of a name, so a look-up that hangs occupies only one of the four threads.
final class PostgresLookup: Sendable {
    /// A session that waits for a name.
    private struct Waiter {
        weak var lookup: PostgresLookup?
        weak var inbox: PostgresInbox?
    }

    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 4)
        pool.start()
        return pool
    }()
    /// The sessions that wait for each look-up under way, by its name.
    private static let waiting = Locked<[String: [Waiter]]>([:])

    private let found = Locked<[String]?>(nil)

    /// - Parameter inbox: woken when the look-up has ended.
    init(_ name: String, waking inbox: PostgresInbox) {
        let isFirst = Self.waiting.withLock { waiting in
            let others = waiting[name]
            // Sessions that have given up are removed. Otherwise a look-up that hangs would collect them.
            waiting[name] = (others ?? []).filter { $0.lookup != nil } + [Waiter(lookup: self, inbox: inbox)]
            return others == nil
        }
        guard isFirst else { return }
        Self.pool.submit { _ in
            let addresses = Self.addresses(of: name)
            for waiter in Self.waiting.withLock({ $0.removeValue(forKey: name) ?? [] }) {
                waiter.lookup?.found.withLock { $0 = addresses }
                waiter.inbox?.wake()
            }
        }
    }

    /// The addresses in the system's order of preference, empty if the look-up failed; nil until the look-up has
    /// ended.
    var addresses: [String]? { self.found.withLock { $0 } }

    /// The addresses of a name; empty if there are none. Waits for the resolver.
    static func addresses(of name: String, flags: Int32 = 0) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = SystemCalls.streamSocket
        hints.ai_flags = flags
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
                addresses.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            }
            next = entry.ai_next
        }
        return addresses
    }
}
