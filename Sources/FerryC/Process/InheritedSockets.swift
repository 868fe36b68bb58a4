internal import Ferry
internal import FerryPlatform

/// The copies of the parent's sockets in a child of `fork`. The child uses none of them.
enum InheritedSockets {
    /// Closes the sockets with these cookies. With the copies open, a server would see the end of the parent's
    /// connection only when the child ends too.
    static func closeCopies(of cookies: Set<UInt64>) {
        guard !cookies.isEmpty, let folder = opendir("/proc/self/fd") else { return }
        var copies: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
            }
            if name > STDERR_FILENO, let cookie = self.cookie(of: name), cookies.contains(cookie) {
                copies.append(name)
            }
        }
        closedir(folder)
        for copy in copies { close(copy) }
    }

    /// Returns the cookie of a socket (`SO_COOKIE`); nil if the descriptor is not a socket.
    private static func cookie(of descriptor: Int32) -> UInt64? {
        var cookie: UInt64 = 0
        var size = socklen_t(MemoryLayout<UInt64>.size)
        guard getsockopt(descriptor, SOL_SOCKET, OpenSockets.cookieOption, &cookie, &size) == 0 else { return nil }
        return cookie
    }
}
