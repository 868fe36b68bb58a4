internal import NIOPosix

/// The list of rejections in a file that only its owner may read, on a thread of its own. See ``ListFileCore``.
package final class ListFile: ListWriter {
    private let core: ListFileCore
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// Makes the file if there is none. A FIFO is opened as soon as somebody reads it.
    ///
    /// - Parameter survivesPowerLoss: whether a batch waits for the disk.
    /// - Throws: ``Fault`` when it cannot be written.
    package init(path: String, survivesPowerLoss: Bool = false) throws(Fault) {
        self.core = ListFileCore(path: path, survivesPowerLoss: survivesPowerLoss)
        try self.core.begin()
        self.thread.start()
    }

    /// Why the file cannot be written, in the system's words.
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
