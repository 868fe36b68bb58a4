internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryPlatform

/// The file through which the processes of one computer share a provider token. APNs wants one token of a key, and not one of
/// each process.
///
/// A new token is written beside the file and renamed, so a reader never sees half of one. A lock on a second file, with
/// `.lock` behind its name, lets one process at a time make a token. Both files are for their owner only.
struct SharedTokenFile: Sendable {
    /// How often the lock is tried, and the pause in between, in microseconds. A process that was stopped while it
    /// holds the lock must not stop the others. Without the lock a process makes its own token.
    private static let tries = 25
    private static let pause: UInt32 = 2000

    private let path: String

    /// - Throws: ``ConfigurationError`` when the files cannot be written.
    init(path: String) throws(ConfigurationError) {
        self.path = path
        guard let lock = Lock(path: path) else {
            throw ConfigurationError(
                .tokenFileUnusable,
                FileName(path).sentence("cannot be used for provider tokens: \(String(cString: strerror(errno)))")
            )
        }
        lock.release()
    }

    /// Returns the token that another process left; nil if it left none, or if the key did not sign it.
    func token(signedWith key: ES256Key) -> GivenToken? {
        let file = open(self.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: GivenToken.longest + 1)
        let count = read(file, &bytes, bytes.count)
        guard count > 0, let token = GivenToken(bytes[..<count]), token.isSigned(by: key) else { return nil }
        return token
    }

    /// Calls `body` while no other process makes a token, or after ``tries`` without the lock.
    func whileAlone<Result>(_ body: () -> Result) -> Result {
        let lock = Lock(path: self.path)
        defer { lock?.release() }
        var tries = Self.tries
        while let lock, !lock.take(), tries > 0 {
            tries -= 1
            usleep(Self.pause)
        }
        return body()
    }

    /// Leaves a token for other processes. If that fails, they make their own.
    func leave(_ token: some Collection<UInt8>) {
        let draft = "\(self.path).\(getpid())"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let bytes = Array(token)
        let written = write(file, bytes, bytes.count)
        close(file)
        if written != bytes.count || rename(draft, self.path) != 0 { unlink(draft) }
    }

    private struct Lock {
        private let file: Int32

        init?(path: String) {
            self.file = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard self.file >= 0 else { return nil }
        }

        func take() -> Bool { flock(self.file, LOCK_EX | LOCK_NB) == 0 }

        /// Gives the lock back, and closes its file.
        func release() { close(self.file) }
    }
}
