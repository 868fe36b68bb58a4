internal import FerryAdmin
internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

extension ProcessFacts {
    /// The facts about this process.
    init(_ certificates: [CertificateWarnings.Entry], _ alarms: RecentAlarms, storePath: String?) {
        self.init(ferry: Version.current, storePath: storePath)
        self.certificates = certificates.map {
            CertificateStatus(file: $0.file, use: $0.use, endsAt: Int($0.end.timeIntervalSince1970))
        }
        self.alarms = alarms
        self.droppedLogs = { MessageWriter.shared.dropped }
    }
}
