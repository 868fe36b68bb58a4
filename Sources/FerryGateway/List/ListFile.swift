internal import NIOPosix

/// The file of the list of rejections, with its own thread. Only its owner can read it. See ``ListFileCore``.
package final class ListFile: ListWriter {
    private let core: ListFileCore
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// Opens the file, and makes it if necessary. A FIFO is opened when a program reads it.
    ///
    /// - Parameter survivesPowerLoss: whether a batch waits for the disk.
    /// - Throws: ``Fault`` when the file cannot be written.
    package init(path: String, survivesPowerLoss: Bool = false) throws(Fault) {
        self.core = ListFileCore(path: path, survivesPowerLoss: survivesPowerLoss)
        try self.core.begin()
        self.thread.start()
    }

    /// The reason why the file cannot be written, as the system states it.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package func write(_ batch: ListBatch, then: @escaping @Sendable (ListAnswer) -> Void) {
        self.thread.submit { state in
            guard case .active = state else { return then(ListAnswer(count: 0, trouble: "The file is closed")) }
            then(self.core.append(batch))
        }
    }

    package func close() {
        self.thread.submit { _ in self.core.end() }
        self.thread.shutdownGracefully { _ in }
    }
}
