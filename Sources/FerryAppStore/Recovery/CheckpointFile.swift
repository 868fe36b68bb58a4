internal import FerryCore
internal import FerryPlatform

/// The file of a checkpoint. Only its owner can read it.
///
/// A new version is written to a second file. Then this file replaces the first in one step. So a reader always finds
/// a whole version, old or new.
struct CheckpointFile: Sendable {
    /// The largest number of bytes that are read. A checkpoint has a few thousand.
    private static let limit = 1 << 20

    let path: String

    /// Returns the checkpoint; nil if the file does not exist.
    func read() throws(AppStoreRecoveryError) -> RecoveryCheckpoint? {
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw self.unreadable(String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = buffer.withUnsafeMutableBytes { read_(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw self.unreadable(String(cString: strerror(errno))) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
            guard bytes.count <= Self.limit else { throw self.unreadable("it is too long for one") }
        }
        guard let checkpoint = try? JSONDecoder().decode(RecoveryCheckpoint.self, from: Data(bytes)),
            checkpoint.format == RecoveryCheckpoint.currentFormat
        else { throw self.unreadable("it is not one, or of another version") }
        return checkpoint
    }

    func write(_ checkpoint: RecoveryCheckpoint) throws(AppStoreRecoveryError) {
        let draft = "\(self.path).\(getpid())"
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try self.write(Array(try encoder.encode(checkpoint)) + [UInt8(ascii: "\n")], to: draft)
            guard rename(draft, self.path) == 0 else { throw SystemFault() }
            self.syncDirectory()
        } catch {
            unlink(draft)
            throw AppStoreRecoveryError(
                .checkpointUnwritable,
                FileName(self.path).sentence("cannot be written as a checkpoint: \(error)"),
                report: checkpoint.report,
                cause: error
            )
        }
    }

    private struct SystemFault: Error, CustomStringConvertible {
        let code = errno
        var description: String { String(cString: strerror(self.code)) }
    }

    private func write(_ bytes: [UInt8], to draft: String) throws {
        // An earlier process with the same process identifier may have left a draft.
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemFault() }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write_(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemFault() }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw SystemFault() }
    }

    /// Waits until the new name is on disk. Without this wait, the old file may be back after a loss of power. The
    /// recovery then reads a page twice. That does no harm, so errors are ignored.
    private func syncDirectory() {
        let slash = self.path.lastIndex(of: "/")
        let directory = slash.map { String(self.path[...$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private func unreadable(_ reason: String) -> AppStoreRecoveryError {
        AppStoreRecoveryError(
            .checkpointUnreadable,
            FileName(self.path).sentence("cannot be read as a checkpoint: \(reason)")
        )
    }
}

/// ``CheckpointFile`` has methods of the same names, which hide these functions of the system.
private func read_(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func write_(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
