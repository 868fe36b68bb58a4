/// Facts about the process that its server cannot know itself.
package struct ProcessFacts: Sendable {
    package var ferry: String
    /// The path of the store; nil without a store.
    package var storePath: String?
    package var certificates: [CertificateStatus] = []
    package var alarms = RecentAlarms()
    /// The number of log lines that were dropped.
    package var droppedLogs: @Sendable () -> Int = { 0 }

    package init(ferry: String, storePath: String? = nil) {
        self.ferry = ferry
        self.storePath = storePath
    }
}
