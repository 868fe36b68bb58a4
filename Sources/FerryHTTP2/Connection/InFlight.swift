internal import NIOCore

/// The requests of a connection that wait for their answer, indexed by stream and linked in the order of writing.
struct InFlight {
    struct Request {
        /// The owner's number for the request. The connection only returns it.
        var slot: UInt64
        var stream: HTTP2Session.Stream
        var written: NIODeadline
        /// The end of the stream of bytes below TLS before the request was written.
        var sentFrom: UInt64
    }

    /// A request's place in the order of writing: the streams before and after it; -1 for none.
    private struct Place {
        var request: Request?
        var older: Int32 = -1
        var newer: Int32 = -1
    }

    private var places: [Place] = []
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    private(set) var count = 0

    mutating func insert(_ request: Request) {
        let index = Int(request.stream.index)
        while index >= self.places.count { self.places.append(Place()) }
        self.places[index] = Place(request: request, older: self.newest)
        let number = Int32(truncatingIfNeeded: index)
        if self.newest >= 0 { self.places[Int(self.newest)].newer = number } else { self.oldest = number }
        self.newest = number
        self.count += 1
    }

    mutating func remove(_ stream: HTTP2Session.Stream) -> Request? {
        let index = Int(stream.index)
        guard index < self.places.count, let request = self.places[index].request,
            request.stream == stream
        else { return nil }
        let (older, newer) = (self.places[index].older, self.places[index].newer)
        self.places[index].request = nil
        if older >= 0 { self.places[Int(older)].newer = newer } else { self.oldest = newer }
        if newer >= 0 { self.places[Int(newer)].older = older } else { self.newest = older }
        self.count -= 1
        return request
    }

    /// The oldest request; nil if no request is under way.
    var first: Request? { self.oldest < 0 ? nil : self.places[Int(self.oldest)].request }
}
