internal import FerryPlatform

/// A check that a file with a secret is protected from other users.
package enum FilePermissions {
    /// The forbidden bits: reading by others, and writing by others or the group. The group may read, because services
    /// often get their keys that way.
    private static let openBits = 0o026

    /// Returns the permission bits of a regular file if they let other users read or change it; otherwise nil.
    package static func open(_ path: String) -> Int? {
        var status = stat()
        // Other files are not checked. A shell's pipe for `<(…)` is visible only to users who could read the process's
        // memory.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let mode = Int(status.st_mode & 0o777)
        return mode & self.openBits == 0 ? nil : mode
    }

    /// Returns "key.pem holds a private key, and other users may read or change it (mode 644)", without a full stop.
    package static func sentence(_ name: String, holds secret: String, _ mode: Int) -> String {
        "\(name) holds \(secret), and other users may read or change it (mode \(String(mode, radix: 8)))"
    }

    /// Returns a `chmod` command that takes away the forbidden bits, but not the group's right to read. So a service
    /// that reads the file through its group can still read it.
    ///
    /// - Parameter mode: a result of ``open(_:)``.
    package static func cure(_ name: String, _ mode: Int) -> String {
        let group = mode & self.openBits & 0o070 == 0 ? nil : "g-w"
        let others = mode & self.openBits & 0o007 == 0 ? nil : "o="
        return "chmod \([group, others].compactMap(\.self).joined(separator: ",")) \(name)"
    }
}
