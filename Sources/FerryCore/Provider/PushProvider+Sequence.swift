/// A notification, its device, and the tag of its outcome.
public struct Submission: Sendable {
    /// The notification to send.
    public var notification: PushNotification
    /// The device to send it to.
    public var device: DeviceToken
    /// The number that comes back with the outcome.
    public var tag: PushTag

    /// A notification to a device.
    @inlinable
    public init(_ notification: PushNotification, to device: DeviceToken, tag: PushTag) {
        self.notification = notification
        self.device = device
        self.tag = tag
    }
}

extension PushProvider {
    /// Submits the elements of a sequence in batches of 1,024.
    ///
    /// - Throws: ``SubmitError``. The number of elements that were taken before the error is unknown. To know it, fill
    ///   a ``PushBatch`` and use ``submit(_:)``, which leaves the rest in the batch.
    @inlinable
    public func submit(contentsOf submissions: some Sequence<Submission>) async throws(SubmitError) {
        let batchSize = 1024
        var batch = PushBatch(capacity: batchSize)
        for submission in submissions {
            while true {
                do {
                    try batch.append(submission.notification, to: submission.device, tag: submission.tag)
                    break
                } catch {
                    // `append` fails only when the batch is full, and an empty batch is not full: the loop ends.
                    try await self.submit(&batch)
                }
            }
            if batch.count == batchSize {
                try await self.submit(&batch)
            }
        }
        if !batch.isEmpty {
            try await self.submit(&batch)
        }
    }
}
