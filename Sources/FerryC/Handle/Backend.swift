internal import Ferry
internal import FerryCore

/// The provider or echo that a handle sends with.
enum Backend: Sendable {
    case provider(any LoopProvider)
    case echo(Echo)

    /// The number of notifications that the backend may take now. Another thread may use the room first.
    var room: Int {
        switch self {
        case .provider(let provider): provider.body.room
        case .echo: .max
        }
    }

    var isClosed: Bool {
        switch self {
        case .provider(let provider): provider.body.isClosed
        case .echo(let echo): echo.isClosed
        }
    }

    func take(_ batch: inout PushBatch) {
        switch self {
        case .provider(let provider): provider.trySubmit(&batch)
        case .echo(let echo): echo.take(&batch)
        }
    }

    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .provider(let provider): provider.body.whenRoom(body)
        case .echo: body()
        }
    }

    /// Calls `body` one time: when every notification taken so far has been written, or has its outcome.
    ///
    /// - Returns: a number for ``stopWaiting(_:)``; nil if `body` was called immediately.
    func whenWritten(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        switch self {
        case .provider(let provider): return provider.body.whenWritten(body)
        case .echo:
            body()
            return nil
        }
    }

    func stopWaiting(_ id: UInt64) { if case .provider(let provider) = self { provider.body.stopWaiting(id) } }

    /// The numbers of the `undelivered` and of the `uncertain` outcomes so far.
    var losses: (undelivered: Int, uncertain: Int) {
        switch self {
        case .provider(let provider): (provider.counts.undelivered, provider.counts.uncertain)
        case .echo: (0, 0)
        }
    }

    func shutDown(within limit: Duration, receive: @escaping @Sendable () -> Void) {
        switch self {
        case .provider(let provider): provider.body.shutDown(within: limit, proof: .automatic) { _ in receive() }
        case .echo(let echo):
            echo.close()
            receive()
        }
    }
}
