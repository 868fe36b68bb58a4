internal import FerryPlatform

/// Asks the process that has a store; or opens the store itself when there is no such process.
///
/// Blocks its thread: for a command.
package struct ControlClient {
    /// Why the process does not answer.
    package enum Failure: Error, Sendable {
        /// Nobody listens.
        case noProcess
        /// A sentence.
        case failed(String)
    }

    private let path: String

    /// The longest answer that is taken: ten thousand lines of a list, with several destinations each, have less.
    private static let longestAnswer = 64 << 20

    package init(store: String) { self.path = ControlServer.path(store: store) }

    /// Sends a request, and returns the lines of its answer.
    package func ask(_ request: ControlRequest) throws(Failure) -> [[UInt8]] {
        let descriptor = try self.connect()
        defer { close(descriptor) }
        var rest = (request.line + [UInt8(ascii: "\n")])[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw self.failure("does not read") }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw self.failure("does not answer") }
            guard count > 0 else { break }
            answer += chunk.prefix(count)
            guard answer.count <= Self.longestAnswer else {
                throw .failed("The list is longer than \(Self.longestAnswer >> 20) MiB: ask for fewer at a time.")
            }
        }
        guard answer.last == UInt8(ascii: "\n") else {
            throw .failed("The process that has the store ended before its answer.")
        }
        return answer.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    /// Whether the system has room for the path of a store's socket and a zero behind it.
    package static func fits(store: String) -> Bool {
        ControlServer.path(store: store).utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    }

    private func connect() throws(Failure) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(self.path.utf8)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { target in
            guard path.count < target.count else { return false }
            target.copyBytes(from: path)
            return true
        }
        guard fits else { throw .failed("The path \(self.path) is too long for a socket: move the store.") }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw self.failure("cannot be reached") }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                Self.connect(descriptor, pointer.baseAddress, socklen_t(bytes.count))
            }
        }
        guard result == 0 else {
            let number = errno
            close(descriptor)
            // The socket's file stays when a process is killed.
            guard number != ENOENT, number != ECONNREFUSED else { throw .noProcess }
            throw .failed("\(self.path): \(String(cString: strerror(number))).")
        }
        return descriptor
    }

    private static func connect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Int32
    {
        FerryPlatform.connect(descriptor, address, length)
    }

    private func failure(_ predicate: String) -> Failure {
        .failed("The process that has the store \(predicate) (\(String(cString: strerror(errno)))).")
    }
}
