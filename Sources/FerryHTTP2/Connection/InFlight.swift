internal import NIOCore

/// The requests of a connection that wait for their answer, by the index of their stream, and in the order of writing.
struct InFlight {
    struct Request {
        var attempt: Attempt
        var generation: UInt32
        /// The token that was sent along.
        var tokenGeneration: UInt64
        var written: NIODeadline
        /// Where the stream below TLS ended before the request was written.
        var sentFrom: UInt64
        fileprivate var older: Int32
        fileprivate var newer: Int32
    }

    private var requests: [Request?] = []
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    private(set) var count = 0

    mutating func insert(
        _ attempt: Attempt,
        _ stream: HTTP2Session.Stream,
        tokenGeneration: UInt64,
        written: NIODeadline,
        sentFrom: UInt64
    ) {
        let index = Int(stream.index)
        while index >= self.requests.count { self.requests.append(nil) }
        self.requests[index] = Request(
            attempt: attempt,
            generation: stream.generation,
            tokenGeneration: tokenGeneration,
            written: written,
            sentFrom: sentFrom,
            older: self.newest,
            newer: -1
        )
        let number = Int32(truncatingIfNeeded: index)
        if self.newest >= 0 { self.requests[Int(self.newest)]?.newer = number } else { self.oldest = number }
        self.newest = number
        self.count += 1
    }

    mutating func remove(_ stream: HTTP2Session.Stream) -> Request? {
        let index = Int(stream.index)
        guard index < self.requests.count, let request = self.requests[index],
            request.generation == stream.generation
        else { return nil }
        self.requests[index] = nil
        if request.older >= 0 {
            self.requests[Int(request.older)]?.newer = request.newer
        } else {
            self.oldest = request.newer
        }
        if request.newer >= 0 {
            self.requests[Int(request.newer)]?.older = request.older
        } else {
            self.newest = request.older
        }
        self.count -= 1
        return request
    }

    /// The request that was written first, and its stream.
    var first: (stream: HTTP2Session.Stream, request: Request)? {
        guard self.oldest >= 0, let request = self.requests[Int(self.oldest)] else { return nil }
        let index = UInt32(truncatingIfNeeded: Int(self.oldest))
        return (HTTP2Session.Stream(index: index, generation: request.generation), request)
    }

    /// When the first was written; nil when there is none.
    var firstWritten: NIODeadline? {
        self.oldest < 0 ? nil : self.requests[Int(self.oldest)]?.written
    }
}
