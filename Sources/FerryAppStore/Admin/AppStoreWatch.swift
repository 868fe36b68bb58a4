internal import FerryCore

/// The posts and deliveries of a receiver, for operators. Any thread may use it.
package final class AppStoreWatch: Sendable {
    /// The watches of the deliveries, in the order of the destinations.
    package let deliveries: [DeliveryWatch]
    /// Copies of the destinations that were passed in. The watches in ``deliveries`` count only the attempts of these
    /// copies. So deliver to these copies.
    package let destinations: [AppStoreDestination]
    private let state = Locked(PostFigures())

    package init(_ destinations: [AppStoreDestination] = []) {
        let watches = destinations.map { DeliveryWatch($0.name) }
        self.deliveries = watches
        self.destinations = zip(destinations, watches).map { $0.watched(by: $1) }
    }

    package var posts: PostFigures { self.state.withLock { $0 } }

    package func note(_ event: AppStoreReceiverEvent) {
        self.state.withLock { posts in
            switch event {
            case .taken: posts.taken += 1
            case .duplicate: posts.copies += 1
            case .refused(let error, _): posts.refused[.init(error.code), default: 0] += 1
            case .misdirected(let status): posts.refused[status == 404 ? .path : .method, default: 0] += 1
            case .postponed: posts.postponed += 1
            }
        }
    }

    package func note(_ event: AppStoreDeliveryEvent) {
        // The watches count all attempts, also without a store. So only a delivery that was given up is counted here.
        guard case .failed(_, let destination, _, nil) = event else { return }
        self.deliveries.first { $0.name == destination }?.setAside()
    }

    /// Notes the HTTP status of the answer to a post, and the time from the last byte of the post to the answer.
    package func note(answer status: Int, after time: Duration) {
        let nanoseconds = time.components.seconds * 1_000_000_000 + time.components.attoseconds / 1_000_000_000
        self.state.withLock { posts in
            posts.answers[status, default: 0] += 1
            posts.times.add(nanoseconds: nanoseconds)
        }
    }
}
