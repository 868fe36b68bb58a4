/// The events of the receiver's log, beside ``ServerLogEvent``. `Docs/commands/appstore.md` says what each means.
enum AppStoreLogEvent: String, CaseIterable {
    case refused, postponed
    case notDelivered, setAside, notNoted
    case linesHidden
    case stopped
}
