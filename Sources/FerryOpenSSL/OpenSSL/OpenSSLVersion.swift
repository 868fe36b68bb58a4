internal import CFerryOpenSSL

/// The version of OpenSSL that runs in this process.
package enum OpenSSLVersion {
    /// Three numbers: `3.0.20`.
    package static var current: String {
        "\(OPENSSL_version_major()).\(OPENSSL_version_minor()).\(OPENSSL_version_patch())"
    }
}
