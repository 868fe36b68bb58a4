/// A file that is written in chunks. Nothing is written after the first write that failed.
///
/// The owner must call ``flush()`` before it releases the file: otherwise, the buffered bytes are lost. A write blocks.
struct BufferedFile: ~Copyable {
    /// The error of the first write that failed.
    private(set) var failure: FileError?
    private let file: OutputFile
    private let chunk: Int
    private var bytes: [UInt8]

    /// Opens a file for writing. An existing file is emptied.
    ///
    /// - Parameters:
    ///   - chunk: how many bytes are buffered before they are written.
    ///   - opening: the first bytes.
    init(path: String, chunk: Int, opening: [UInt8] = []) throws(FileError) {
        self.file = try OutputFile(path: path)
        self.chunk = chunk
        self.bytes = opening
    }

    /// Buffers the bytes that `append` appends. Writes them when a chunk is complete.
    mutating func add(_ append: (inout [UInt8]) -> Void) {
        append(&self.bytes)
        if self.bytes.count >= self.chunk { self.flush() }
    }

    /// Writes the buffered bytes.
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
