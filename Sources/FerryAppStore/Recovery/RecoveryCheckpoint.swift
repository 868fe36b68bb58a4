internal import FerryPlatform

/// The page of the history that a recovery has reached. The checkpoint is written at the start, after each page, and
/// after each restart of the window. Its form is JSON:
///
/// ```json
/// {"format":1,"bundleId":"com.example.app","environment":"Production","onlyFailures":true,"asked":1790000000000,
///  "from":1790000000000,"to":1790003600000,"paginationToken":"…","pages":3,"fetched":60,"stored":12,"storedBefore":0,
///  "stillComing":4,"duplicates":47,"setAside":[{"code":"forged","count":1,"reason":"…"}],"restarts":0,
///  "isComplete":false}
/// ```
///
/// Times are milliseconds since 1970.
struct RecoveryCheckpoint: Codable, Hashable, Sendable {
    struct SetAside: Codable, Hashable, Sendable {
        var code: String
        var reason: String
        var count: Int
    }

    static let currentFormat = 1

    var format = Self.currentFormat
    var bundleId: String
    var environment: String
    var onlyFailures: Bool
    /// The requested start, even if Apple no longer has notifications of that time.
    var asked: Int64
    /// The window that is sent to Apple. Apple demands the same window for each page.
    var from: Int64
    var to: Int64
    /// The token of the next page; nil for the first page, and when the window is complete.
    var paginationToken: String?
    var pages = 0
    var fetched = 0
    /// The number of notifications stored in all passes through the window.
    var stored = 0
    /// The number of notifications stored in earlier passes. In this pass, each of them may come again as a
    /// duplicate.
    var storedBefore = 0
    var stillComing = 0
    /// The number of duplicates in this pass.
    var duplicates = 0
    var setAside: [SetAside] = []
    var restarts = 0
    var isComplete = false

    var report: AppStoreRecoveryReport {
        var report = AppStoreRecoveryReport(
            window: Date(milliseconds: self.from)..<Date(milliseconds: max(self.from, self.to)),
            outOfReach: self.asked < self.from
                ? Date(milliseconds: self.asked)..<Date(milliseconds: self.from) : nil
        )
        report.pages = self.pages
        report.fetched = self.fetched
        report.stored = self.stored
        report.stillComing = self.stillComing
        report.duplicates = max(self.duplicates - self.storedBefore, 0)
        report.setAside = self.setAside.map {
            .init(code: .init(rawValue: $0.code) ?? .malformed, reason: $0.reason, count: $0.count)
        }
        report.restarts = self.restarts
        report.isComplete = self.isComplete
        return report
    }
}
