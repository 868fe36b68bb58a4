internal import FerryPlatform

/// The number of the last commit that a store has acknowledged, in a file of its own.
///
/// A damaged page looks to SQLite like the end of the write-ahead log, and SQLite then calls the file good. In a trial,
/// half of the acknowledged commits were lost in this way. The number in a second file shows the loss.
///
/// ```
///   0         8           16
///   ┌─────────┬───────────┐
///   │ number  │ ~ number  │   native byte order
///   └─────────┴───────────┘
/// ```
package final class HighWaterMark {
    private static let length = 16

    /// A fault of the mark, described in sentences for an operator.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// The result of a check that found no fault.
    package enum Finding {
        /// The store has every commit that was acknowledged.
        case agrees
        /// There was no mark file, so the check made one.
        case isNew
    }

    private let path: String
    private let descriptor: Int32

    package init(path: String) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    }

    deinit { close(self.descriptor) }

    /// Compares the mark with the last commit that the store has.
    ///
    /// - Throws: ``Fault`` when the store has lost commits, or when the mark cannot be used.
    package func check(last: UInt64, of store: String) throws(Fault) -> Finding {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        var finding = Finding.agrees
        switch pread(self.descriptor, &bytes, Self.length, 0) {
        case 0:
            finding = .isNew
        case Self.length where Self.number(bytes[..<8]) == ~Self.number(bytes[8...]):
            let mark = Self.number(bytes[..<8])
            guard mark <= last else {
                throw Fault(
                    "The store \(store) has lost its last commits: it ends with \(last), and \(mark) was acknowledged. The "
                        + "disk may be damaged. If this file is a copy, put its own mark beside it. To go on with what is "
                        + "left, remove \(self.path)."
                )
            }
        case let count where count < 0:
            throw Fault("The store's mark \(self.path) cannot be read: \(String(cString: strerror(errno))).")
        default:
            throw Fault("The store's mark \(self.path) is damaged. To go on without it, remove it.")
        }
        // The write gives the file its block now. A disk that fills up later cannot prevent the next writes.
        try self.advance(to: last)
        return finding
    }

    /// Notes that the store has acknowledged this commit.
    package func advance(to number: UInt64) throws(Fault) {
        var mark = (number, ~number)
        let count = withUnsafeBytes(of: &mark) { pwrite(self.descriptor, $0.baseAddress, Self.length, 0) }
        guard count == Self.length else {
            throw Fault(
                "The store's mark \(self.path) cannot be written: \(String(cString: strerror(errno)))."
            )
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
