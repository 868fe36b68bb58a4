internal import FerryPlatform

/// The writer of a ``ListFile``. It opens the file, appends whole lines, and mends the end of the file after a kill.
///
/// * If the disk has no room for a whole line, the written half is removed, so that the list has whole lines only. The
///   half stays if another program has appended to the file meanwhile.
/// * If the file was renamed or removed, a new file is made under the name. So the list can be rotated.
/// * Before the first batch, the file may have lines that an earlier process wrote before it was killed; see
/// ``ListTail``.
///
/// `@unchecked Sendable`, because only one thread at a time uses it.
final class ListWriter: @unchecked Sendable {
    private struct File {
        var descriptor: Int32
        var device: UInt64
        var inode: UInt64
        var isRegular: Bool
        /// Whether the end of the file was checked for half a line of a killed process.
        var isMended = false

        init(_ descriptor: Int32, _ status: stat) {
            self.descriptor = descriptor
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
            self.isRegular = status.st_mode & S_IFMT == S_IFREG
        }

        func isSame(_ status: stat) -> Bool {
            self.device == UInt64(status.st_dev) && self.inode == UInt64(status.st_ino)
        }
    }

    /// How long a write waits for the reader of a FIFO, in milliseconds.
    private static let patience: Int32 = 500
    private static let unread = "nobody reads it"

    private let path: String
    private let survivesPowerLoss: Bool
    private var file: File?
    private var isFirst = true

    init(path: String, survivesPowerLoss: Bool) {
        self.path = path
        self.survivesPowerLoss = survivesPowerLoss
    }

    deinit { self.end() }

    func end() {
        if let file { close(file.descriptor) }
        self.file = nil
    }

    // MARK: Opening

    /// Opens the file. Does nothing if the open file still has the name. A FIFO without a reader stays closed, and no
    /// error is thrown.
    func begin() throws(ListFile.Fault) {
        var status = stat()
        if let file {
            if stat(self.path, &status) == 0, file.isSame(status) { return }
            self.end()
        }
        let descriptor = open(self.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            guard errno == ENXIO else { throw Self.fault }
            return
        }
        guard fstat(descriptor, &status) == 0 else {
            let fault = Self.fault
            close(descriptor)
            throw fault
        }
        self.file = File(descriptor, status)
    }

    private static var fault: ListFile.Fault { ListFile.Fault(String(cString: strerror(errno))) }

    /// Removes the line that a process was writing when it was killed. If the half line is not from this list, adds a
    /// line break.
    private func removeHalfLine(_ file: File) {
        guard let tail = ListTail(path: self.path, from: max(0, self.length(of: file) - ListTail.longestLine)) else {
            return
        }
        let half = tail.half
        guard !half.isEmpty else { return }
        if RejectionLine.begins(half) {
            ftruncate(file.descriptor, off_t(self.length(of: file) - half.count))
        } else {
            _ = write(file.descriptor, "\n", 1)
        }
    }

    private func length(of file: File) -> Int {
        var status = stat()
        return fstat(file.descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    // MARK: Writing

    func append(_ batch: ListBatch) -> ListAnswer {
        do throws(ListFile.Fault) {
            try self.begin()
        } catch {
            return ListAnswer(count: 0, trouble: error.description)
        }
        guard let file else { return ListAnswer(count: 0, trouble: Self.unread) }
        guard file.isRegular else { return self.pass(batch.lines, to: file) }
        // The half line is removed only now. When the file was opened, an ending process may still have been writing
        // to it.
        if !file.isMended {
            self.removeHalfLine(file)
            self.file?.isMended = true
        }
        var present = 0
        if self.isFirst, let after = batch.after {
            present = ListTail.present(of: batch.lines, after: after, in: self.path)
        }
        self.isFirst = false
        var answer = self.append(batch.lines[present...], to: file)
        answer.count += present
        if self.survivesPowerLoss, fdatasync(file.descriptor) != 0 {
            // The lines may be in the file. The next try looks for them there.
            self.isFirst = true
            return ListAnswer(count: 0, trouble: Self.fault.description)
        }
        return answer
    }

    /// Appends lines to a regular file.
    private func append(_ lines: ArraySlice<[UInt8]>, to file: File) -> ListAnswer {
        let bytes = Array(lines.joined())
        let start = self.length(of: file)
        let (written, code) = Self.put(bytes, to: file.descriptor)
        var answer = ListAnswer(count: lines.count)
        if written < bytes.count {
            var whole = 0
            answer.count = 0
            for line in lines where whole + line.count <= written {
                whole += line.count
                answer.count += 1
            }
            answer.trouble = String(cString: strerror(code))
            // The half line is removed. If another program has appended meanwhile, the half line stays, because the
            // truncation would remove the other program's bytes.
            if whole < written, self.length(of: file) == start + written {
                ftruncate(file.descriptor, off_t(start + whole))
            }
        }
        answer.place = ListPlace(device: file.device, inode: file.inode, offset: UInt64(self.length(of: file)))
        return answer
    }

    /// Writes as many bytes as there is room for. `code` is the system's error if bytes are left; otherwise 0.
    private static func put(_ bytes: [UInt8], to descriptor: Int32) -> (written: Int, code: Int32) {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return (written, count < 0 ? errno : ENOSPC) }
                written += count
            }
            return (written, 0)
        }
    }

    /// Writes lines to a FIFO or a device, one line at a time. The system takes a line of this length whole or not at
    /// all.
    private func pass(_ lines: [[UInt8]], to file: File) -> ListAnswer {
        for (index, line) in lines.enumerated() {
            var count = write(file.descriptor, line, line.count)
            if count < 0, errno == EAGAIN {
                var state = pollfd(fd: file.descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&state, 1, Self.patience)
                count = write(file.descriptor, line, line.count)
            }
            guard count == line.count else {
                let trouble = count < 0 && errno != EAGAIN && errno != EPIPE ? Self.fault.description : Self.unread
                // The FIFO has lost its reader. It is closed here, so that the next batch opens it again for the next
                // reader.
                if count < 0, errno == EPIPE { self.end() }
                return ListAnswer(count: index, trouble: trouble)
            }
        }
        return ListAnswer(count: lines.count)
    }
}
