internal import NIOPosix

/// The file of the list of rejections, with its own thread. If the process makes the file, only the user of the process
/// can read it. ``ListWriter`` writes the file.
package final class ListFile: Sendable {
    private let writer: ListWriter
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// Opens the file, and makes it if it does not exist. A FIFO without a reader stays closed until a program reads
    /// it.
    ///
    /// - Parameter survivesPowerLoss: whether each batch is flushed to the disk before the answer to it.
    /// - Throws: ``Fault`` when the file cannot be written.
    package init(path: String, survivesPowerLoss: Bool = false) throws(Fault) {
        self.writer = ListWriter(path: path, survivesPowerLoss: survivesPowerLoss)
        try self.writer.begin()
        self.thread.start()
    }

    /// The reason why the file cannot be written, as the system states it.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    /// Appends whole lines. The caller must wait for the answer to a batch before it passes the next batch.
    ///
    /// - Parameter then: called once, on any thread.
    func write(_ batch: ListBatch, then: @escaping @Sendable (ListAnswer) -> Void) {
        self.thread.submit { state in
            guard case .active = state else { return then(ListAnswer(count: 0, trouble: "The file is closed")) }
            then(self.writer.append(batch))
        }
    }

    /// Closes the file, without waiting for a disk that hangs.
    package func close() {
        self.thread.submit { _ in self.writer.end() }
        self.thread.shutdownGracefully { _ in }
    }
}
