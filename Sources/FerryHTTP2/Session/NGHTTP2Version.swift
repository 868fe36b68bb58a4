internal import CFerryNGHTTP2

/// The version of nghttp2 that runs in this process.
package enum NGHTTP2Version {
    /// Three numbers: `1.52.0`.
    package static var current: String {
        // Nil only if a version is asked for that is newer than the library.
        nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? ""
    }
}
