internal import CFerryOpenSSL
internal import FerryCore
internal import FerryPlatform

/// The places of the system's certificate authorities. A slim container image has no authorities there, and then no
/// server can be trusted.
struct SystemAuthorities: Equatable {
    /// A file with all authorities of a distribution.
    struct Bundle: Equatable {
        var path: String
        /// Whether the distribution also puts each authority, under its hash, into the directory where OpenSSL looks. The
        /// bundle then adds nothing, and reading it would cost each context tens of milliseconds.
        var isAlsoHashed: Bool
    }

    /// The bundles of the distributions. OpenSSL looks in the directory that was fixed when it was built, and a portable
    /// build runs where another one is usual.
    static let bundles = [
        // Debian, Ubuntu.
        Bundle(path: "/etc/ssl/certs/ca-certificates.crt", isAlsoHashed: true),
        // RHEL, Fedora.
        Bundle(path: "/etc/pki/tls/certs/ca-bundle.crt", isAlsoHashed: false),
        // SUSE.
        Bundle(path: "/etc/ssl/ca-bundle.pem", isAlsoHashed: true),
        // Alpine.
        Bundle(path: "/etc/ssl/cert.pem", isAlsoHashed: true),
    ]

    /// OpenSSL's file of PEM certificates.
    var file: String
    /// OpenSSL's directories with one file for each certificate, named by its hash: `3513523f.0`.
    var directories: [String]
    /// The bundles to look for, in this order.
    var bundles: [Bundle]
    /// The environment's variables that replace OpenSSL's own places: `SSL_CERT_FILE`, `SSL_CERT_DIR`.
    var variables: [String] = []

    init(file: String, directories: [String], bundles: [Bundle] = []) {
        self.file = file
        self.directories = directories
        self.bundles = bundles
    }

    /// The places of a process: those that its environment names, or else OpenSSL's own and the bundles.
    ///
    /// - Parameter environment: the value of a variable; nil if it is not set.
    init(environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        let variables = [text(X509_get_default_cert_file_env()), text(X509_get_default_cert_dir_env())]
        let file = environment(variables[0])
        let directories = environment(variables[1])
        self.init(
            file: file ?? text(X509_get_default_cert_file()),
            directories: (directories ?? text(X509_get_default_cert_dir())).split(separator: ":").map(String.init),
            bundles: file == nil && directories == nil ? Self.bundles : []
        )
        self.variables = zip(variables, [file, directories]).compactMap { $1 == nil ? nil : $0 }
    }

    /// The bundle to read besides OpenSSL's own places: the first that exists, if those places lack its authorities.
    var bundle: String? {
        guard !Self.hasBytes(self.file), let first = self.bundles.first(where: { Self.hasBytes($0.path) }) else {
            return nil
        }
        return first.isAlsoHashed && self.isHashed ? nil : first.path
    }

    /// Whether there is any file of certificates. The first handshake shows whether the file is good.
    var areInstalled: Bool { Self.hasBytes(self.file) || self.isHashed || self.bundle != nil }

    /// The sentence for a system without authorities.
    var fault: TLSError {
        var places: [String] = []
        for place in [self.file] + self.directories + self.bundles.map(\.path) where !place.isEmpty {
            if !places.contains(place.printable) { places.append(place.printable) }
        }
        let looked = places.isEmpty ? "looked nowhere" : "looked in \(Self.list(places))"
        let variables = Self.list(self.variables)
        let (finding, cure) =
            switch self.variables.count {
            case 0:
                (
                    "are installed on this system (\(looked); SSL_CERT_FILE and SSL_CERT_DIR are not set)",
                    "install the package ca-certificates"
                )
            case let count:
                (
                    "were found (\(looked), because \(variables) \(count == 1 ? "is" : "are") set)",
                    "correct or unset \(variables)"
                )
            }
        return TLSError(
            .invalidConfiguration,
            "No certificate authorities \(finding), so no server could be trusted: \(cure), or name a file of authorities."
        )
    }

    /// Names with commas, and "and" before the last.
    private static func list(_ names: [String]) -> String {
        let (first, last) = (names.dropLast().joined(separator: ", "), names.last ?? "")
        return first.isEmpty ? last : "\(first) and \(last)"
    }

    /// Adds the authorities to a context's store.
    ///
    /// - Throws: ``TLSError`` with `invalidConfiguration` if there are none, or if OpenSSL refuses them.
    func install(in context: borrowing OwnedContext) throws(TLSError) {
        guard SSL_CTX_set_default_verify_paths(context.pointer) == 1 else {
            throw .openSSL(.invalidConfiguration, "OpenSSL finds no trust roots at the system's default paths.")
        }
        guard self.areInstalled else { throw self.fault }
        if let bundle, SSL_CTX_load_verify_file(context.pointer, bundle) != 1 {
            throw .openSSL(
                .invalidConfiguration,
                "OpenSSL refuses the system's authorities in \(bundle.printable): install the package ca-certificates "
                    + "again, or name a file of authorities."
            )
        }
    }

    private var isHashed: Bool {
        self.directories.contains { directory in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.contains(where: Self.isHashed)
        }
    }

    private static func hasBytes(_ path: String) -> Bool {
        (try? FileStart.read(path, limit: 0))?.isEmpty == false
    }

    /// Eight hex digits, a dot, and a number.
    private static func isHashed(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && !parts[1].isEmpty && parts[1].allSatisfy(\.isNumber)
    }
}
