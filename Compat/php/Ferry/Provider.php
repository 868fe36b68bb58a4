<?php

namespace Ferry;

/** Sends notifications, and reads one outcome for each. After pcntl_fork() the child makes a provider of its own. */
final class Provider implements Constants
{
    /** How many outcomes read() returns unless told otherwise. */
    public const BATCH = 4096;

    /** How many notifications are packed at a time. What is packed when there is no room is packed in vain. */
    private const CHUNK = 512;
    /** The size of an outcome in words of 64 bits. */
    private const WORDS = 5;
    private const COUNTS = [
        'taken', 'unsettled', 'unread', 'confirmed', 'presumed', 'rejected', 'expired', 'undelivered', 'uncertain',
        'contradicted', 'resent',
    ];

    private \FFI $ffi;
    private int $handle = 0;
    private int $pid;
    /** Whether the last submission took less than there was. */
    private bool $wasFull = false;
    /** Where the library writes outcomes. */
    private ?\FFI\CData $words = null;
    private int $capacity = 0;
    /** Where the library writes the tags of a run. */
    private ?\FFI\CData $tags = null;
    private int $tagCapacity = 0;
    /** @var string[] */
    private array $reasons = [0 => ''];

    /**
     * @param array $options the names of Docs/begin/c.md, such as ['backend' => 'http2', 'production' => true].
     * @throws Exception with a sentence about the option that is wrong.
     */
    public function __construct(array $options)
    {
        $this->ffi = Library::get();
        $this->pid = \getmypid();
        $this->handle = Library::open('ferry_open', $options);
    }

    public static function version(): string
    {
        return Library::get()->ferry_version();
    }

    /**
     * Takes notifications from the front, as many as there is room for. Never waits.
     *
     * @param array[] $notifications each with 'token' (hexadecimal) and 'payload' (JSON, or an array), and, as needed, 'tag' (an
     *   integer that comes back with the outcome), 'expiration' (UNIX seconds), 'priority', 'pushType' (PUSH_…), 'topic',
     *   'collapseId', 'apnsId'.
     * @return int how many were taken. If that is less than there were: wait for READY_ROOM, or read outcomes.
     * @throws \InvalidArgumentException if the first that was not taken, or one soon after it, has no form of bytes.
     */
    public function submit(array $notifications): int
    {
        return $this->inChunks($notifications, function (array $chunk): int {
            $records = \implode('', \array_map([Record::class, 'pack'], $chunk));
            return $this->ffi->ferry_submit($this->handle, $records, \strlen($records), null);
        });
    }

    /**
     * Takes one notification for many devices. Their tags are $firstTag, $firstTag + 1 and so on.
     *
     * @param array $notification as for submit(), without 'token' and 'tag'.
     * @param string[] $tokens hexadecimal, of one length.
     * @param bool $areBytes whether the tokens are bytes, and not hexadecimal. For 32 bytes this saves a fifth of a call's time.
     */
    public function submitTo(array $notification, array $tokens, int $firstTag, bool $areBytes = false): int
    {
        $submit = function (array $chunk, int $taken) use ($notification, $firstTag, $areBytes): int {
            $record = Record::pack(['token' => $areBytes ? \bin2hex($chunk[0]) : $chunk[0]] + $notification);
            $length = \strlen($chunk[0]);
            foreach ($chunk as $token) {
                if (\strlen($token) !== $length) {
                    throw new \InvalidArgumentException('The tokens of one call have one length.');
                }
            }
            $tokens = \implode('', $chunk);
            if (!$areBytes) {
                [$tokens, $length] = [Record::bytes('tokens', $tokens), \intdiv($length, 2)];
            }
            $tag = $firstTag + $taken;
            return $this->ffi->ferry_submit_to(
                $this->handle, $record, \strlen($record), $tokens, $length, \count($chunk), $tag
            );
        };
        return $this->inChunks($tokens, $submit);
    }

    /** Calls $submit for one chunk after the other while all of them are taken. */
    private function inChunks(array $all, callable $submit): int
    {
        $taken = 0;
        while ($taken < \count($all) && !$this->isFull()) {
            $chunk = \array_slice($all, $taken, self::CHUNK);
            try {
                $count = Library::check($submit($chunk, $taken));
            } catch (\Throwable $error) {
                // What was taken before counts. The next call comes here first.
                if ($taken > 0) {
                    return $taken;
                }
                throw $error;
            }
            $taken += $count;
            $this->wasFull = $count < \count($chunk);
        }
        return $taken;
    }

    private function isFull(): bool
    {
        return $this->wasFull && (Library::check($this->ffi->ferry_wait($this->handle, 0)) & self::READY_ROOM) === 0;
    }

    /**
     * Returns outcomes that have come, at most $most.
     *
     * @return array[] each with 'tag'; 'outcome' (ACCEPTED, REJECTED, EXPIRED, UNDELIVERED or UNCERTAIN); 'detail' (CONFIRMED,
     *   PRESUMED, ORIGIN_… or CAUSE_…); 'status' of the protocol, or 0; 'reason', Apple's word, or ''; 'legacy', the status that
     *   a gateway of the binary protocol would have sent, or 0; 'timestamp', when the device was gone, in milliseconds, or
     *   null; 'apnsId', or null.
     */
    public function read(int $most = self::BATCH): array
    {
        if ($this->capacity < $most) {
            $this->words = $this->ffi->new('uint64_t[' . $most * self::WORDS . ']');
            $this->capacity = $most;
        }
        $words = $this->words;
        $count = Library::check($this->ffi->ferry_read($this->handle, $words, 8 * self::WORDS, $most));
        $ids = $last = $outcome = null;
        $outcomes = [];
        for ($i = $k = 0; $k < $count; $i += self::WORDS, $k++) {
            // Most outcomes differ from the one before in their tag alone, and a copy costs less than an array built anew.
            $word = $words[$i + 1];
            if ($word !== $last) {
                $outcome = $this->outcome($word);
                $last = $word;
            }
            $outcome['tag'] = $words[$i];
            if ($word >> 56 & self::OUTCOME_APNS_ID) {
                $ids ??= self::ids(\FFI::string($words, 8 * self::WORDS * $count));
                $outcome['apnsId'] = \substr($ids, 36 * $k, 36);
            }
            if ($outcome['outcome'] === self::REJECTED) {
                $outcome['timestamp'] = $words[$i + 2] ?: null;
            }
            $outcomes[] = $outcome;
        }
        return $outcomes;
    }

    /**
     * Returns outcomes that have come, at most $most, as runs: outcomes that differ in their tags alone. When most outcomes are
     * alike, this costs a fraction of read().
     *
     * @return array[] each with 'tags', a list of integers, and the members of an outcome but 'tag' and 'apnsId'.
     */
    public function readRuns(int $most = self::BATCH): array
    {
        if ($this->tagCapacity < $most) {
            $this->tags = $this->ffi->new('uint64_t[' . $most . ']');
            $this->tagCapacity = $most;
        }
        $words = $this->ffi->new('uint64_t[' . self::WORDS . ']');
        [$tags, $size, $runs] = [$this->tags, 8 * self::WORDS, []];
        while ($most > 0
            && ($count = Library::check($this->ffi->ferry_read_run($this->handle, $words, $size, $tags, $most)))) {
            $run = $this->outcome($words[1]);
            unset($run['tag'], $run['apnsId']);
            $run['timestamp'] = $words[2] ?: null;
            $list = [];
            for ($i = 0; $i < $count; $i++) {
                $list[] = $tags[$i];
            }
            $runs[] = ['tags' => $list] + $run;
            $most -= $count;
        }
        return $runs;
    }

    /**
     * Returns an outcome of read() in words, with the members of a line of `ferry push --events`, and a 'sentence'.
     *
     * Call it soon: where the outcome is not certain or not a delivery, the sentence is about the present trouble.
     */
    public function words(array $outcome): array
    {
        $reason = $outcome['reason'];
        $numbers = [
            $outcome['tag'], $outcome['outcome'], $outcome['detail'], $outcome['status'],
            \is_int($reason) ? $reason : \array_search($reason, $this->reasons, true), $outcome['legacy'],
            $outcome['apnsId'] === null ? 0 : self::OUTCOME_APNS_ID, $outcome['timestamp'] ?? 0,
        ];
        $id = \pack('a16', \hex2bin(\str_replace('-', '', $outcome['apnsId'] ?? '')));
        $size = 8 * self::WORDS;
        $record = $this->ffi->new("uint8_t[$size]");
        \FFI::memcpy($record, \pack('PCCvvCCP', ...$numbers) . $id, $size);
        return Library::decoded('ferry_outcome_json', $this->handle, $record, $size);
    }

    /** An outcome by its second word, which has the members from 'outcome' to 'flags', the first of them in its lowest bits. */
    private function outcome(int $word): array
    {
        $reason = $word >> 32 & 0xffff;
        return [
            'tag' => 0,
            'outcome' => $word & 0xff,
            'detail' => $word >> 8 & 0xff,
            'status' => $word >> 16 & 0xffff,
            'reason' => $this->reasons[$reason] ??= $this->ffi->ferry_reason_text($reason),
            'legacy' => $word >> 48 & 0xff,
            'timestamp' => null,
            'apnsId' => null,
        ];
    }

    /** The last 16 bytes of each outcome as UUIDs, one after the other. One by one they would cost more than all the rest. */
    private static function ids(string $outcomes): string
    {
        $pattern = '/.{48}(.{8})(.{4})(.{4})(.{4})(.{12})/';
        return \preg_replace($pattern, '$1-$2-$3-$4-$5', \bin2hex($outcomes));
    }

    /** Waits for something to do. Returns READY_… bits; 0 when the time is over, or when a signal's handler has run. */
    public function wait(float $seconds): int
    {
        return (int) Library::wait($seconds, function (int $ms): ?int {
            $bits = $this->ffi->ferry_wait($this->handle, $ms);
            return $bits === self::EINTR ? 0 : (Library::check($bits) ?: null);
        });
    }

    /** Waits until everything that was taken was written to the network, or has its outcome. Returns whether that is so. */
    public function flush(float $seconds): bool
    {
        return Library::wait($seconds, function (int $ms): ?int {
            $result = $this->ffi->ferry_flush($this->handle, $ms);
            return $result === 1 || $result === self::EINTR ? null : Library::check($result);
        }) !== null;
    }

    /** Waits until everything has its outcome. Returns how many notifications have none. */
    public function drain(float $seconds): int
    {
        $left = 0;
        Library::wait($seconds, function (int $ms) use (&$left): ?int {
            $left = Library::check($this->ffi->ferry_drain($this->handle, $ms));
            return $left === 0 ? 0 : null;
        });
        return $left;
    }

    /** The numbers of the handle, by their names in ferry.h. */
    public function counts(): array
    {
        $numbers = $this->ffi->new('uint64_t[' . \count(self::COUNTS) . ']');
        Library::check($this->ffi->ferry_counts($this->handle, $numbers, \FFI::sizeof($numbers)));
        return \array_combine(self::COUNTS, \unpack('P*', \FFI::string($numbers, \FFI::sizeof($numbers))));
    }

    /** The report of the library. 'lastError' says what is wrong with the connection, if something is. */
    public function report(): array
    {
        return Library::decoded('ferry_report', $this->handle);
    }

    /** Changes an option that may change: ['share' => 10]. */
    public function set(array $options): void
    {
        Library::withOptions($options, function (...$arguments) {
            return $this->ffi->ferry_set($this->handle, ...$arguments);
        });
    }

    /** Returns the events that have come. Without the option 'events' there are none. */
    public function events(): array
    {
        $events = [];
        while ($event = Library::decoded('ferry_read_event', $this->handle)) {
            $events[] = $event;
        }
        return $events;
    }

    /** A descriptor that is readable while wait(0) is not 0. Only poll it. */
    public function fd(): int
    {
        return Library::check($this->ffi->ferry_fd($this->handle));
    }

    /**
     * The same as a stream, for stream_select() and event loops. Only in the command line does PHP open a descriptor.
     *
     * @return resource
     */
    public function stream()
    {
        return \fopen('php://fd/' . $this->fd(), 'r');
    }

    /** Takes nothing more, and gives everything its outcome, after so many seconds at most. Outcomes stay readable. */
    public function close(float $seconds): void
    {
        $this->drain($seconds);
        Library::check($this->ffi->ferry_close($this->handle, 0));
        $this->wasFull = false;
    }

    /** Frees the provider. What was not closed ends as if closed within 0 seconds, or those of the option 'atExit'. */
    public function free(): void
    {
        Library::free($this->handle);
        $this->handle = 0;
    }

    /** A provider that nothing refers to any more sends what it took. At the end of a process the library does ('atExit'). */
    public function __destruct()
    {
        if ($this->handle === 0 || $this->pid !== \getmypid() || Library::isProcessEnding()) {
            return;
        }
        if ($left = $this->drain(Library::LAST_SECONDS)) {
            \error_log("Ferry: $left notifications had no outcome when their provider was dropped.");
        }
        $this->free();
    }
}
