package import FerryMachine

extension HTTP2Options {
    /// Returns the options for the client of one event loop. The bounds of the whole provider are cut; those of one
    /// connection stay.
    package func part(_ part: LoopPart) -> HTTP2Options {
        var options = self
        options.maxConnections = part.of(self.maxConnections)
        options.delayLimit = part.of(self.delayLimit)
        return options
    }
}
