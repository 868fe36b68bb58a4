internal import CFerryOpenSSL
internal import FerryCore
internal import FerryPlatform

/// The places where OpenSSL looks for the system's certificate authorities. A slim container image has none there, and then
/// no server can be trusted.
struct SystemAuthorities: Equatable {
    /// A file of PEM certificates.
    var file: String
    /// Directories with one file for each certificate, named by its hash: `3513523f.0`.
    var directories: [String]

    init(file: String, directories: [String]) {
        self.file = file
        self.directories = directories
    }

    /// The places of this process: OpenSSL's own, unless the environment names others.
    init() {
        func place(_ variable: UnsafePointer<CChar>?, _ usual: UnsafePointer<CChar>?) -> String {
            let given = variable.flatMap { getenv($0) }.map { String(cString: $0) }
            return given ?? usual.map { String(cString: $0) } ?? ""
        }
        self.init(
            file: place(X509_get_default_cert_file_env(), X509_get_default_cert_file()),
            directories: place(X509_get_default_cert_dir_env(), X509_get_default_cert_dir())
                .split(separator: ":").map(String.init)
        )
    }

    /// Whether there is any file of certificates. What is in it shows in the first handshake.
    var areInstalled: Bool {
        if let bytes = try? FileStart.read(self.file, limit: 0), !bytes.isEmpty { return true }
        return self.directories.contains { directory in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.contains(where: Self.isHashed)
        }
    }

    /// The sentence for a system without authorities.
    var fault: TLSError {
        let places = ([self.file] + self.directories).filter { !$0.isEmpty }.map(\.printable)
        return TLSError(
            .invalidConfiguration,
            "No certificate authorities are installed on this system (looked in \(places.joined(separator: " and "))), so no "
                + "server could be trusted: install the package ca-certificates, or name a file of authorities."
        )
    }

    /// Eight hex digits, a dot, and a number.
    private static func isHashed(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && !parts[1].isEmpty && parts[1].allSatisfy(\.isNumber)
    }
}
