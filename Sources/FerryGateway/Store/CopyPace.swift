/// The length of the steps of a copy.
///
/// A commit waits for one step at most, so steps are short. If commits add pages as fast as short steps copy them,
/// only longer steps finish the copy. If a step did not lower the number of pages that are left, the next step is
/// twice as long. If a step lowered this number by more than half of its own pages, the next step is half as long. So
/// steps become short again after a burst of commits, but never so short that the copy stands still.
struct CopyPace {
    /// The pages of the first step: half a megabyte.
    static let least = 128
    /// The pages of the longest step: 16 MB.
    static let most = 4096

    /// The pages of the next step.
    private(set) var pages = Self.least
    /// The pages that the last step left.
    private var remaining = Int.max

    /// - Parameter remaining: the pages that the step left.
    mutating func stepped(remaining: Int) {
        let gain = self.remaining - remaining
        self.remaining = remaining
        if gain <= 0 {
            self.pages = min(self.pages * 2, Self.most)
        } else if gain > self.pages / 2 {
            self.pages = max(self.pages / 2, Self.least)
        }
    }
}
