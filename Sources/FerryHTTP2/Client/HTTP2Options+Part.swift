package import FerryMachine

extension HTTP2Options {
    /// Returns the options for one event loop's client. The bounds of the whole provider are divided.
    package func part(_ part: LoopPart) -> HTTP2Options {
        var options = self
        options.maxConnections = part.of(self.maxConnections)
        options.delayLimit = part.of(self.delayLimit)
        return options
    }
}
