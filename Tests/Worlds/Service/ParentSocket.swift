internal import Foundation

/// A socket that listens, as a service manager holds it while its services come and go.
package final class ParentSocket {
    package let descriptor: Int32

    /// Binds any port of 127.0.0.1.
    ///
    /// - Parameter listens: whether clients can connect.
    package init(listens: Bool = true) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0, !listens || listen(descriptor, 4096) == 0 else { throw SocketFailure(code: errno) }
    }

    deinit { close(self.descriptor) }

    /// Another descriptor of the socket, for a process or a listener that closes it.
    package func passed() -> Int32 { dup(self.descriptor) }

    package var port: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        _ = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// The length of the system's queue (`tcpi_sacked` of a socket that listens).
    package var queueLimit: Int {
        var words = [UInt32](repeating: 0, count: 64)
        var length = socklen_t(words.count * 4)
        getsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_INFO, &words, &length)
        // Two words of bytes, two timeouts, two segment sizes, and `tcpi_unacked`.
        return Int(words[7])
    }
}
