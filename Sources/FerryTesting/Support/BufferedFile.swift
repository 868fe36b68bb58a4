/// A file that is written a chunk at a time. Nothing is written after the first write that failed.
///
/// The owner calls ``flush()`` before it lets the file go, or what has gathered is lost. A write blocks.
struct BufferedFile: ~Copyable {
    /// What went wrong first.
    private(set) var failure: FileError?
    private let file: OutputFile
    private let chunk: Int
    private var bytes: [UInt8]

    /// Opens a file for writing and empties it, if it is there.
    ///
    /// - Parameters:
    ///   - chunk: how many bytes gather before they are written.
    ///   - opening: the first bytes.
    init(path: String, chunk: Int, opening: [UInt8] = []) throws(FileError) {
        self.file = try OutputFile(path: path)
        self.chunk = chunk
        self.bytes = opening
    }

    /// Adds what `append` appends; writes when a chunk has gathered.
    mutating func add(_ append: (inout [UInt8]) -> Void) {
        append(&self.bytes)
        if self.bytes.count >= self.chunk { self.flush() }
    }

    /// Writes what has gathered.
    mutating func flush() {
        defer { self.bytes.removeAll(keepingCapacity: true) }
        guard self.failure == nil, !self.bytes.isEmpty else { return }
        do throws(FileError) {
            try self.file.write(self.bytes)
        } catch {
            self.failure = error
        }
    }
}
