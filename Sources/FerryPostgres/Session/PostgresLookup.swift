internal import FerryCore
internal import FerryPlatform
internal import NIOPosix

/// The look-up of a host's name. The system's resolver has no deadline, so it runs on one of two threads of the process.
final class PostgresLookup: Sendable {
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        return pool
    }()

    private let found = Locked<[String]?>(nil)

    /// - Parameter inbox: it is woken at the end.
    init(_ name: String, waking inbox: PostgresInbox) {
        // A look-up that nobody waits for any longer is left out.
        Self.pool.submit { [weak self] _ in
            guard let self else { return }
            let addresses = Self.addresses(of: name)
            self.found.withLock { $0 = addresses }
            inbox.wake()
        }
    }

    /// The addresses in the system's order of preference, none if the name has none; nil until then.
    var addresses: [String]? { self.found.withLock { $0 } }

    /// The addresses of a name. Waits for the resolver.
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
