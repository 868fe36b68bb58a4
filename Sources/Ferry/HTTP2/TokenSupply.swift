internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryPlatform

/// The place from which tokens of another program come: a file or a closure.
struct TokenSupply: Sendable {
    /// The reason why there is no token. The description names the place and the reason, and quotes no token.
    struct Failure: Error, Sendable, CustomStringConvertible {
        var description: String
    }

    private enum Place: Sendable {
        case file(String, TokenFile?)
        case closure(@Sendable () throws -> String)
    }

    private var place: Place

    init(file path: String) {
        self.place = .file(path, nil)
    }

    init(closure: @escaping @Sendable () throws -> String) {
        self.place = .closure(closure)
    }

    /// Returns the current token.
    mutating func next() throws(Failure) -> GivenToken {
        switch self.place {
        case .closure(let closure):
            let text: String
            do {
                text = try closure()
            } catch {
                // Only the type is shown, because the text of the program's error may quote a token.
                throw Failure(description: "The program gives no provider token (it throws \(type(of: error))).")
            }
            guard let token = GivenToken(Array(text.utf8)) else { throw self.malformed }
            return token
        case .file(let path, let last):
            // The stamp is taken before the file is read. If the file changes in between, the next call reads it again.
            let stamp = try TokenFile.Stamp(path)
            if let last, last.stamp == stamp { return last.token }
            let bytes: [UInt8]
            do {
                bytes = try credentialBytes(atPath: path)
            } catch {
                throw Failure(description: error.description)
            }
            guard let token = GivenToken(bytes) else { throw self.malformed }
            self.place = .file(path, TokenFile(stamp: stamp, token: token))
            return token
        }
    }

    /// The failure for a token that exists but must not be used.
    func failure(_ fault: GivenTokenMachine.Fault) -> Failure {
        switch fault {
        case .expired(let seconds):
            Failure(
                description: "The provider token \(self.words) was made \(seconds) s ago by this machine's clock, and "
                    + "APNs takes none that is older than an hour."
            )
        case .refused:
            Failure(description: "APNs has refused the provider token \(self.words), and there is no other yet.")
        }
    }

    private var malformed: Failure {
        Failure(
            description: "There is no provider token \(self.words): a token is three parts of Base64 with dots in "
                + "between, the last with a signature of 64 bytes."
        )
    }

    /// The place of the token, for the end of a phrase.
    private var words: String {
        switch self.place {
        case .file(let path, _): FileName(path).shown.map { "in \($0)" } ?? "in its file"
        case .closure: "that the program gives"
        }
    }
}

/// A token from a file, and the state of the file when it was read.
private struct TokenFile: Sendable {
    /// The state of a file. Differs whenever the file was written or replaced.
    struct Stamp: Equatable, Sendable {
        private var inode: UInt64
        private var size: Int64
        private var seconds: Int
        private var nanoseconds: Int

        /// - Throws: when the file does not exist, or is not a regular file. Reading another kind could block for ever.
        init(_ path: String) throws(TokenSupply.Failure) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                let reason = String(cString: strerror(errno))
                throw TokenSupply.Failure(description: FileName(path).sentence("cannot be read: \(reason)"))
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                let predicate = "is no regular file, which can be read again when it changes"
                throw TokenSupply.Failure(description: FileName(path).sentence(predicate))
            }
            let time = SystemCalls.changed(status)
            self.inode = UInt64(status.st_ino)
            self.size = Int64(status.st_size)
            self.seconds = Int(time.tv_sec)
            self.nanoseconds = Int(time.tv_nsec)
        }
    }

    var stamp: Stamp
    var token: GivenToken
}
