import FerryCore
import FerryPlatform
import Foundation

/// A port of 127.0.0.1 at which the system answers no connection: its queue is full, so the first packets are dropped.
final class FullServer: Sendable {
    let port: Int
    private let sockets: [Int32]

    init?() {
        guard let (listener, port) = Listener.bound(queue: 0) else { return nil }
        self.port = port
        self.sockets = [listener] + (0..<4).map { _ in Listener.connected(to: port) }
    }

    deinit { for socket in self.sockets { close(socket) } }

    var connection: String { "host=127.0.0.1 port=\(self.port) user=ferry dbname=ferry sslmode=disable" }
}

/// A server that answers the first message of a client with these bytes, and is silent then.
final class SilentServer: Sendable {
    let port: Int
    private let listener: Int32
    private let asked = Locked<(isDone: Bool, then: @Sendable () -> Void)>((false, {}))

    init?(answer: [UInt8]) {
        guard let (listener, port) = Listener.bound(queue: 16) else { return nil }
        (self.listener, self.port) = (listener, port)
        guard !answer.isEmpty else { return }
        Thread.detachNewThread { [weak self] in
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            var bytes = [UInt8](repeating: 0, count: 4096)
            if read(client, &bytes, bytes.count) > 0, write(client, answer, answer.count) == answer.count,
                read(client, &bytes, bytes.count) > 0
            {
                self?.asked.withLock { asked in
                    asked.isDone = true
                    return asked.then
                }()
                while read(client, &bytes, bytes.count) > 0 {}
            }
            close(client)
        }
    }

    deinit {
        // It wakes the thread that accepts.
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }

    var connection: String { "host=127.0.0.1 port=\(self.port) user=ferry dbname=ferry sslmode=disable" }

    /// Calls `body` once, after the client's second message.
    func whenAsked(_ body: @escaping @Sendable () -> Void) {
        let isDone = self.asked.withLock { asked in
            asked.then = body
            return asked.isDone
        }
        if isDone { body() }
    }
}

private enum Listener {
    static func bound(queue: Int32) -> (listener: Int32, port: Int)? {
        let listener = socket(AF_INET, SystemCalls.streamSocket, 0)
        var address = Self.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) | listen(listener, queue) | getsockname(listener, address, &length)
            }
        }
        guard code == 0 else { return nil }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// A socket whose connection has begun.
    static func connected(to port: Int) -> Int32 {
        let client = socket(AF_INET, SystemCalls.streamSocket, 0)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        var address = Self.loopback(port: port)
        _ = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return client
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
