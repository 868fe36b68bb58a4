internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The notifications without a final answer, as an operator sees them. These functions change nothing.
extension GatewayMachine {
    /// The largest number of places in the table of jobs that one turn of the event loop looks at. A look at a million
    /// jobs in one turn would delay every client.
    static let placesInTurn = 2000

    /// Returns at most `limit` of the next notifications that the filter admits, and the place to continue; nil at the
    /// end.
    ///
    /// - Parameter unreachable: the upstreams to which there is no connection.
    func waiting(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        limit: Int,
        unreachable: Set<Int>,
        now: Moment
    ) -> (rows: [WaitingRow], next: WaitingPlace?) {
        var rows: [WaitingRow] = []
        let next = self.look(after: place, filter, unreachable, now: now) { id, job, reason, age in
            rows.append(self.row(id, job, reason, age))
            return rows.count < limit
        }
        return (rows, next)
    }

    /// Returns the sums of the next notifications that the filter admits, and the place to continue; nil at the end.
    func waitingSums(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        unreachable: Set<Int>,
        now: Moment
    ) -> (sums: [WaitingSum], next: WaitingPlace?) {
        struct Key: Hashable {
            var identity: Int
            var reason: WaitingReason
        }
        var sums: [Key: (count: Int, oldestAge: TimeAmount)] = [:]
        let next = self.look(after: place, filter, unreachable, now: now) { _, job, reason, age in
            let key = Key(identity: job.scope.identity, reason: reason)
            let known = sums[key, default: (0, .zero)]
            sums[key] = (known.count + 1, max(known.oldestAge, age))
            return true
        }
        let rows = sums.map { key, sum in
            WaitingSum(
                client: self.dispatch.identities[key.identity].name,
                upstream: self.dispatch.identities[key.identity].listenerUpstream,
                reason: key.reason,
                count: sum.count,
                oldestAge: Self.seconds(sum.oldestAge)
            )
        }
        return (rows, next)
    }

    private func look(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        _ unreachable: Set<Int>,
        now: Moment,
        _ body: (JobID, Job, WaitingReason, _ age: TimeAmount) -> Bool
    ) -> WaitingPlace? {
        var place = place
        // The age comes from the monotonic clock, so that a change of the system's clock does not change it.
        let least = filter.readBy.map { TimeAmount.seconds(Int64(now.epochSeconds) - Int64($0)) }
        let isEnd = self.dispatch.jobs.look(from: &place, atMost: Self.placesInTurn) { id, job in
            let age = job.age(now: now.monotonic)
            if let least, age < least { return true }
            if let client = filter.client, self.dispatch.identities[job.scope.identity].name != client { return true }
            let reason = self.dispatch.reasonToWait(job, unreachable: unreachable)
            if let wanted = filter.reason, reason != wanted { return true }
            return body(id, job, reason, age)
        }
        return isEnd ? nil : place
    }

    private func row(_ id: JobID, _ job: Job, _ reason: WaitingReason, _ age: TimeAmount) -> WaitingRow {
        WaitingRow(
            apnsID: self.dispatch.jobs.apnsID(of: id).description,
            client: self.dispatch.identities[job.scope.identity].name,
            upstream: self.dispatch.identities[job.scope.identity].listenerUpstream,
            topic: self.dispatch.routes.topicName(of: self.dispatch.flows[job.flow].route),
            reason: reason,
            lastReason: job.lastReason?.rawValue,
            readAt: job.readAtSeconds,
            age: Self.seconds(age),
            expiration: job.expiration,
            mayHaveArrived: job.mayHaveArrived || job.doubts > 0,
            attempts: job.attempts,
            token: Array(job.token).hexadecimal
        )
    }

    private static func seconds(_ time: TimeAmount) -> Double { max(Double(time.nanoseconds) / 1e9, 0) }
}

extension Dispatch {
    /// The reason why a job has no final answer.
    ///
    /// - Parameter unreachable: the upstreams to which there is no connection. A notification that its provider has
    ///   already taken waits for a connection, too.
    func reasonToWait(_ job: Job, unreachable: Set<Int>) -> WaitingReason {
        let route = job.isUnderWay ? job.route : self.flows[job.flow].route
        let isReachable = !unreachable.contains(self.routes.upstream(of: route))
        switch job.way {
        case .common, .side: return isReachable ? .underWay : .noConnection
        case .waitsForSide: return isReachable ? .sideConnection : .noConnection
        case .none: break
        }
        switch job.wait {
        case .store: return .store
        case .gate: return .topicRefused
        case .pause: return .backOff
        case .turn where !isReachable: return .noConnection
        case .turn: return self.flows[job.flow].suspicion.isSuspicious ? .sideConnection : .turn
        }
    }
}
