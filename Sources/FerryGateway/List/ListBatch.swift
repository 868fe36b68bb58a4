/// A batch of lines for the file.
struct ListBatch: Hashable, Sendable {
    /// The lines, each with its line break. A batch without lines only asks for the place where the file ends.
    var lines: [[UInt8]]
    /// The place where the last batch ended; nil if the place is not known. A killed process may already have written
    /// some of these lines behind that place.
    var after: ListPlace?
}

/// The answer to a batch.
struct ListAnswer: Hashable, Sendable {
    /// The number of the batch's lines, from the first line on, that are in the file.
    var count: Int
    /// The place after these lines; nil if the file could not be opened, is not a regular file, or could not be flushed
    /// to the disk.
    var place: ListPlace?
    /// The reason why lines are missing; nil if all were written.
    var trouble: String?
}
