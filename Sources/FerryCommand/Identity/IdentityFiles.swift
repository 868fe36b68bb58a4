internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal

/// The files of `ferry identity new`.
struct IdentityFiles {
    enum File: String, CaseIterable {
        case ca = "ca.pem"
        case server = "server.pem"
        case serverKey = "server-key.pem"
        case client = "client.pem"
        case clientKey = "client-key.pem"
        case clientCombined = "client-combined.pem"
        case clientArchive = "client.p12"
        case clientLegacyArchive = "client-legacy.p12"
        case clientPassphrase = "client-passphrase.txt"
        case configuration = "gateway.json"

        var purpose: String {
            switch self {
            case .ca: "the authority that clients must trust"
            case .server: "the gateway's certificate"
            case .serverKey: "its key"
            case .client: "the old stack's certificate; the gateway knows it by this"
            case .clientKey: "its key"
            case .clientCombined: "both in one file, for PyAPNs, houston, ApnsPHP and others"
            case .clientArchive: "both as PKCS#12, with AES"
            case .clientLegacyArchive:
                "both as PKCS#12, with triple DES and SHA-1, for Java 6 and 7 and OpenSSL before 1.0"
            case .clientPassphrase: "the passphrase of both .p12 files"
            case .configuration: "a configuration of ferry gateway, to fill in"
            }
        }

        /// Whether only the owner may read the file.
        var isSecret: Bool {
            switch self {
            case .ca, .server, .client, .configuration: false
            case .serverKey, .clientKey, .clientCombined, .clientArchive, .clientLegacyArchive, .clientPassphrase: true
            }
        }
    }

    let directory: String

    func path(_ file: File) -> String { "\(self.directory)/\(file.rawValue)" }

    /// - Throws: ``CommandFailure`` that names each file that exists already.
    func requireNone() throws(CommandFailure) {
        let present = File.allCases.filter { file in
            var status = stat()
            // A link to a missing file would also prevent the new file.
            return lstat(self.path(file), &status) == 0
        }
        guard present.isEmpty else { throw self.inTheWay(present) }
    }

    /// Writes all files, or none.
    ///
    /// - Throws: ``CommandFailure`` when a file or the directory cannot be made.
    func write(_ contents: [(file: File, bytes: [UInt8])]) throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(
                atPath: self.directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .usage("The directory \(FileName(self.directory).words(option: "--dir")) cannot be made.")
        }
        var made: [File] = []
        do throws(CommandFailure) {
            for (file, bytes) in contents {
                let descriptor = try self.make(file)
                made.append(file)
                do {
                    try bytes.withUnsafeBytes { try descriptor.writeAll($0) }
                } catch {
                    throw CommandFailure.usage("\(file.rawValue) cannot be written: \(error)")
                }
            }
        } catch {
            for file in made { unlink(self.path(file)) }
            throw error
        }
    }

    /// Makes a new file. Fails if another program has made one since ``requireNone()``.
    private func make(_ file: File) throws(CommandFailure) -> FileDescriptor {
        let descriptor = open(self.path(file), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.isSecret ? 0o600 : 0o644)
        guard descriptor < 0 else { return FileDescriptor(descriptor, isOwned: true) }
        guard errno != EEXIST else { throw self.inTheWay([file]) }
        throw .usage("\(file.rawValue) cannot be written: \(FileFailure(code: errno))")
    }

    private func inTheWay(_ files: [File]) -> CommandFailure {
        let verb = files.count == 1 ? "exists" : "exist"
        return .usage(
            "\(files.map(\.rawValue).listed) \(verb) in \(FileName(self.directory).words(option: "--dir")) already, and "
                + "nothing is overwritten: name another directory with --dir."
        )
    }
}
