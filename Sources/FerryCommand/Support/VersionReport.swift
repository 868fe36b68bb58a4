internal import CFerryBuild
internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerrySQLite

/// What `ferry --version` prints.
enum VersionReport {
    /// - Parameter arguments: those after the program's name.
    static func text(_ arguments: [String]) -> String {
        guard Set(arguments) == ["--version", "--verbose"] else { return Version.current }
        let parts = CFerryBuild_portable_parts().map { String(cString: $0) }
        return self.verbose(parts: parts?.split(separator: "\n").map(String.init))
    }

    /// - Parameter parts: the parts of a portable build, with version and licence; nil for another build.
    static func verbose(parts: [String]?) -> String {
        let libraries =
            "OpenSSL \(OpenSSLVersion.current), nghttp2 \(NGHTTP2Version.current), SQLite \(SQLiteVersion.current)"
        let system = CFerryBuild_glibc_version().map { "glibc \(String(cString: $0))" }
        guard let parts else {
            return "\(Version.current)\nOf this system: \(libraries)\(system.map { ", \($0)" } ?? "")"
        }
        var lines = [Version.current, "Inside: \(libraries)"]
        if let system { lines.append("Of this system: \(system)") }
        lines.append("All parts inside:")
        return (lines + parts.map { "  \($0)" }).joined(separator: "\n")
    }
}
