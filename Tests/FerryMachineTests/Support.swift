import FerryCore
import FerryMachine

/// Makes a run of `count` notifications with ascending tags, starting with `first`.
func makeRun(_ count: Int, first: UInt64 = 0, order: UInt64 = 0) throws -> BatchRun {
    var batch = PushBatch()
    for tag in first..<first + UInt64(count) {
        try batch.append(
            PushNotification(json: Array("{}".utf8)),
            to: DeviceToken(Array(repeating: UInt8(truncatingIfNeeded: tag), count: 32)),
            tag: PushTag(tag)
        )
    }
    var run = batch.takeFirst(count)
    run.order = order
    return run
}
