package import NIOPosix

extension NIOThreadPool {
    /// Runs `body` on a thread of the pool, and returns its result. A database has a pool of one thread.
    ///
    /// - Throws: `closed` when the pool was shut down, or the error of `body`.
    package func result<Result: Sendable, Failure: Error>(
        unless closed: Failure,
        of body: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let result: Swift.Result<Result, Failure> = await withCheckedContinuation { continuation in
            self.submit { state in
                guard case .active = state else { return continuation.resume(returning: .failure(closed)) }
                continuation.resume(returning: Swift.Result { () throws(Failure) in try body() })
            }
        }
        return try result.get()
    }
}
