internal import FerryPlatform

/// A sender of notices to the service manager. Each notice is one datagram to a Unix socket. Any thread may use the
/// sender.
package final class ServiceNotifier: Sendable {
    /// The longest time that a notice waits for a manager whose queue is full.
    private static let patience: Duration = .seconds(5)
    private static let pause: Duration = .milliseconds(20)

    private let descriptor: Int32
    private let address: [UInt8]

    /// - Parameter name: the value of `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    /// - Throws: ``ServiceFault`` when the name is too long, or no socket can be made.
    package init(to name: String) throws(ServiceFault) {
        var address = Array(name.utf8)
        // An abstract name begins with a zero byte. A path ends with a zero byte.
        if address.first == UInt8(ascii: "@") { address[0] = 0 } else { address.append(0) }
        guard address.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            throw ServiceFault("The path of NOTIFY_SOCKET is too long.")
        }
        self.address = address
        self.descriptor = socket(AF_UNIX, SystemCalls.datagramSocket, 0)
        guard self.descriptor >= 0 else {
            throw ServiceFault("No socket for NOTIFY_SOCKET can be made: \(String(cString: strerror(errno))).")
        }
        _ = fcntl(self.descriptor, F_SETFD, FD_CLOEXEC)
        // A manager that does not read must not stop an event loop.
        _ = fcntl(self.descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(self.descriptor) }

    /// Sends a notice. Never waits.
    ///
    /// - Returns: nil when the manager has the notice; otherwise the system's error.
    @discardableResult
    package func send(_ notice: ServiceNotice) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.address) }
        let head = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
        let length = socklen_t(head + self.address.count)
        let bytes = Array(notice.text.utf8)
        let count = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(self.descriptor, bytes, bytes.count, 0, $0, length)
            }
        }
        return count == bytes.count ? nil : errno
    }

    /// Sends a notice that must not be lost. Waits while the manager's queue is full, for 5 s at most. The
    /// cancellation of the task ends the wait.
    ///
    /// - Returns: nil when the manager has the notice; otherwise the text of the system's error.
    package func deliver(_ notice: ServiceNotice) async -> String? {
        let end = ContinuousClock.now + Self.patience
        while let code = self.send(notice) {
            guard code == EAGAIN || code == ENOBUFS, ContinuousClock.now < end else {
                return String(cString: strerror(code))
            }
            try? await Task.sleep(for: Self.pause)
            if Task.isCancelled { return String(cString: strerror(code)) }
        }
        return nil
    }
}
