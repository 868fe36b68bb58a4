<?php

namespace Ferry;

/** Reads a list of devices that are gone: of a feedback service, or of the file that the option 'feedback' names. */
final class Feedback implements Constants
{
    private const SIZE = 65_536;

    private int $handle = 0;
    private \FFI\CData $bytes;

    /** @param array $options those of Provider. */
    public function __construct(array $options)
    {
        $this->handle = Library::open('ferry_feedback_open', $options);
        $this->bytes = Library::get()->new('uint8_t[' . self::SIZE . ']');
    }

    /**
     * Waits for the next part of the list.
     *
     * @return array[] each with 'time' (UNIX seconds) and 'token' (hexadecimal); [] at the end of the list.
     * @throws Exception if the list cannot be read to its end.
     */
    public function read(): array
    {
        $length = Library::wait(\INF, function (int $ms): ?int {
            $length = Library::get()->ferry_feedback_read($this->handle, $this->bytes, self::SIZE, $ms);
            return $length === self::ETIME || $length === self::EINTR ? null : $length;
        });
        if ($length === self::EPEER) {
            throw new Exception(Library::decoded('ferry_report', $this->handle)['lastError'], $length);
        }
        $bytes = \FFI::string($this->bytes, Library::check($length));
        $tuples = [];
        for ($i = 0; $i < $length; $i += 6 + $tokenLength) {
            ['time' => $time, 'length' => $tokenLength] = \unpack('Ntime/nlength', $bytes, $i);
            $tuples[] = ['time' => $time, 'token' => \bin2hex(\substr($bytes, $i + 6, $tokenLength))];
        }
        return $tuples;
    }

    public function free(): void
    {
        Library::free($this->handle);
        $this->handle = 0;
    }

    public function __destruct()
    {
        $this->free();
    }
}
