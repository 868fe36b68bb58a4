internal import FerryBinary
internal import FerryCore

/// One thing that an input of a client causes outside of its ``GatewayScope``.
///
/// A rejection has five shapes on its way from APNs to an old client:
///
/// ```
///   Rejection           the answer of APNs
///   Answer.refused      the reaction of the gateway
///   JobFate.rejected    the result for each connection and each copy that waits
///   Ledger.Rejection    the one notification that a connection may name
///   ErrorResponse       the six bytes
/// ```
///
/// A rejection that no error response will tell ends as ``deferRejection(of:)``.
enum Effect: Hashable, Sendable {
    // For the socket.

    /// Write these six bytes, and continue to read.
    case tell(ConnectionID, ErrorResponse)
    /// Close the output. Continue to read.
    case closeOutput(ConnectionID)
    /// Close the connection. No more inputs come from it.
    case close(ConnectionID, isJournalled: Bool)
    /// Read, or stop reading.
    case read(ConnectionID, Bool)

    // For the dispatch and its verdicts.

    /// No error response will tell the rejection of this job, so the next push to the token may be refused. Nil if the
    /// notification had no job.
    case deferRejection(of: JobID?)
    /// The client counts the notification as accepted, because the answer took too long.
    case release(JobID)
    /// A faulty notification was read.
    ///
    /// - Parameter mayHear: whether an error response may be useful to the client.
    case refuse(NotificationRefusal, mayHear: Bool)
    /// The client sent bytes that are not a notification.
    case report(NotificationViolation)

    // For the journal.

    /// Write to the journal that this episode begins, and call ``GatewayScope/durable(_:_:_:)`` when the store has the
    /// record.
    case begin(EpisodeID, named: JobID?)
    /// The connection gave up the error response that begins this episode.
    case giveUp(EpisodeID)
    /// The episode is over. If it is unheard, the client may not have read the rejection that began it.
    case end(EpisodeID, isUnheard: Bool, named: JobID?)
    /// The class or a habit of the client changed.
    case learn
}
