package import FerryCore

extension BatchRun {
    /// Notes one more retry of the only notification of the run; false, and nothing is noted, when it had `limit` already.
    package func retry(atMost limit: Int) -> Bool {
        guard Int(self.entries[0].retries) < min(limit, Int(UInt8.max)) else { return false }
        self.entries[0].retries += 1
        return true
    }
}
