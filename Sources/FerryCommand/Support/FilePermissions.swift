#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Whether a file that holds a secret is kept from others.
enum FilePermissions {
    /// Others may read, or anyone but the owner may write. A group that may read is how a service gets its key.
    private static let openBits = 0o026

    /// The permission bits of a regular file, if they let others read or change it; else nil.
    static func open(_ path: String) -> Int? {
        var status = stat()
        // A pipe, as a shell makes for `<(…)`, is seen by nobody who could not see the process's memory.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let mode = Int(status.st_mode & 0o777)
        return mode & self.openBits == 0 ? nil : mode
    }

    /// "key.pem holds a private key, and other users may read or change it (mode 644)", without a full stop.
    static func sentence(_ name: String, holds secret: String, _ mode: Int) -> String {
        "\(name) holds \(secret), and other users may read or change it (mode \(String(mode, radix: 8)))"
    }

    static func cure(_ name: String) -> String { "chmod 600 \(name)" }
}
