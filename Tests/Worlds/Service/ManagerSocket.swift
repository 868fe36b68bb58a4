internal import Foundation

/// The socket of a service manager, in this process.
package final class ManagerSocket {
    /// The value of `NOTIFY_SOCKET`.
    package let name: String
    private let descriptor: Int32

    /// - Parameter isAbstract: whether the socket has an abstract name in place of a path.
    package init(isAbstract: Bool = false) throws {
        let unique = "ferry-\(UUID().uuidString)"
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        self.name = isAbstract ? "@\(unique)" : "/tmp/\(unique)"
        self.descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(self.name.utf8)
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
        let code = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard code == 0 else { throw SocketFailure(code: errno) }
    }

    deinit {
        close(self.descriptor)
        unlink(self.name)
    }

    /// Returns the next datagram; nil if none comes in time.
    package func next(within milliseconds: Int32 = 60_000) -> String? {
        var state = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, milliseconds) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(self.descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Skips datagrams up to one that begins so, and returns it; nil if none comes in time.
    package func next(beginning words: String, within limit: Duration = .seconds(60)) -> String? {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if let text = self.next(within: 100), text.hasPrefix(words) { return text }
        }
        return nil
    }
}

/// The system's reason why a socket of a test cannot be made.
struct SocketFailure: Error {
    let code: Int32
}
