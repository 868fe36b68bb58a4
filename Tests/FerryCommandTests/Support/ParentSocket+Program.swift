import FerryServiceWorld
import Foundation

extension ParentSocket {
    /// The socket as the standard input of a program. Foundation passes no other descriptor on.
    var input: FileHandle { FileHandle(fileDescriptor: self.passed(), closeOnDealloc: true) }

    /// A script for `sh` that passes the socket from its standard input on, as systemd does.
    static func shell(_ name: String = "binary") -> String {
        "exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_FDNAMES=\(name) LISTEN_PID=$$ exec \"$@\""
    }
}
