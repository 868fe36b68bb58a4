internal import FerryPlatform

/// The whole screen of a terminal, for a program that redraws it again and again.
///
/// Until ``end()``, keys come one by one and are not shown. Call ``end()``, because nothing else gives the terminal
/// back as it was.
package final class TerminalScreen {
    private var before = termios()
    private let isRaw: Bool

    /// Takes the screen.
    package init() {
        self.isRaw = tcgetattr(STDIN_FILENO, &self.before) == 0
        if self.isRaw {
            var keys = self.before
            // Without ISIG, Control-C, Control-\ and Control-Z are keys. A signal by Control-\ or Control-Z would leave
            // the terminal in this mode.
            keys.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
            tcsetattr(STDIN_FILENO, TCSANOW, &keys)
        }
        // The terminal shows its second screen, without a cursor.
        Self.write("\u{1b}[?1049h\u{1b}[?25l")
    }

    /// The lines and columns of the terminal; 24 and 80 if it does not report them.
    package var size: (lines: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    /// Draws lines from the upper left corner on.
    package func draw(_ lines: String) {
        let text = Console.printable(lines).split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\u{1b}[K\r\n")
        Self.write("\u{1b}[H\(text)\u{1b}[K\u{1b}[J")
    }

    /// Returns a key that was pressed within this time; nil without one.
    ///
    /// - Parameter milliseconds: the time to wait.
    package func key(within milliseconds: Int32) -> Character? {
        guard self.isRaw else {
            // An input that has ended can always be read. Without this pause, the program would ask for keys in a loop.
            poll(nil, 0, milliseconds)
            return nil
        }
        var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0, waiting.revents & Int16(POLLIN) != 0 else { return nil }
        var byte: UInt8 = 0
        return read(STDIN_FILENO, &byte, 1) == 1 ? Character(Unicode.Scalar(byte)) : nil
    }

    /// Gives the terminal back as it was.
    package func end() {
        Self.write("\u{1b}[?25h\u{1b}[?1049l")
        if self.isRaw { tcsetattr(STDIN_FILENO, TCSANOW, &self.before) }
    }

    private static func write(_ text: String) { try? FileDescriptor(STDOUT_FILENO, isOwned: false).write(text) }
}
