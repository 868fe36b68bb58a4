/// A notification, the device it goes to, and the tag its outcome comes back with.
public struct Submission: Sendable {
    /// What to send.
    public var notification: PushNotification
    /// To whom.
    public var device: DeviceToken
    /// Comes back with the outcome.
    public var tag: Tag

    /// A notification to a device.
    @inlinable
    public init(_ notification: PushNotification, to device: DeviceToken, tag: Tag) {
        self.notification = notification
        self.device = device
        self.tag = tag
    }
}

extension PushProvider {
    /// Submits the elements of a sequence in batches of 1,024.
    ///
    /// - Throws: ``SubmitError``. How many elements were taken by then is not known; whoever must know fills a
    ///   ``PushBatch`` and uses ``submit(_:)``, which leaves the rest in it.
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
                    // Only a full batch is refused, and an empty one is not full.
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
