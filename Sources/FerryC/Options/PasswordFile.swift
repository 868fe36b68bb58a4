internal import FerryCore
internal import FerryOptions
internal import FerryPlatform

/// A file whose first line is a password.
enum PasswordFile {
    /// The largest number of bytes that are read.
    private static let longest = 4096

    /// - Throws: ``OptionFault`` when the file cannot be read.
    static func firstLine(of path: String, option: String) throws(OptionFault) -> String {
        // Without `O_NONBLOCK`, opening a FIFO would wait for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw self.fault(path, option) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: self.longest)
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw self.fault(path, option) }
        let line = Array(bytes.prefix(count)).withoutByteOrderMark.prefix {
            $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r")
        }
        return String(decoding: line, as: UTF8.self)
    }

    private static func fault(_ path: String, _ option: String) -> OptionFault {
        let reason = String(cString: strerror(errno))
        return OptionFault(FileName(path).sentence("cannot be read: \(reason)", option: "'\(option)'"))
    }
}
