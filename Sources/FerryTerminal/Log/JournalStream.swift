internal import FerryPlatform

/// The connection of standard error to the journal of systemd.
package enum JournalStream {
    /// Whether standard error leads to the journal.
    ///
    /// systemd names the device and the inode of that connection in `JOURNAL_STREAM`. The variable alone proves nothing,
    /// because it stays set when standard error is redirected.
    package static var isStandardError: Bool {
        self.leads(STDERR_FILENO, named: getenv("JOURNAL_STREAM").map { String(cString: $0) })
    }

    static func leads(_ descriptor: Int32, named name: String?) -> Bool {
        var status = stat()
        guard let name, fstat(descriptor, &status) == 0 else { return false }
        return name == "\(status.st_dev):\(status.st_ino)"
    }
}
