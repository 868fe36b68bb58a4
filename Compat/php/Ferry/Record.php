<?php

namespace Ferry;

/**
 * Makes bytes of notifications. ferry.h has the layout.
 *
 * @internal
 */
final class Record
{
    private const DEFAULTS = [
        'token' => '', 'payload' => '', 'tag' => 0, 'expiration' => null, 'priority' => 0, 'pushType' => 0, 'topic' => '',
        'collapseId' => '', 'apnsId' => '',
    ];

    /** @throws \InvalidArgumentException if the notification has no form of bytes. */
    public static function pack(array $notification): string
    {
        $n = $notification + self::DEFAULTS;
        if (\count($n) !== \count(self::DEFAULTS)) {
            throw new \InvalidArgumentException("A notification has no '" . \key(\array_diff_key($n, self::DEFAULTS)) . "'.");
        }
        if (\is_array($n['payload'])) {
            $n['payload'] = \json_encode($n['payload'], \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE);
        }
        foreach (['token' => 200, 'payload' => 65_535, 'topic' => 255, 'collapseId' => 255, 'apnsId' => 36] as $name => $most) {
            if (!\is_string($n[$name]) || \strlen($n[$name]) > $most) {
                throw new \InvalidArgumentException("'$name' takes a string of at most $most bytes.");
            }
        }
        foreach (['expiration' => 0xffffffff, 'priority' => 255, 'pushType' => 255, 'tag' => \PHP_INT_MAX] as $name => $most) {
            $number = $n[$name] ?? 0;
            if (!\is_int($number) || $number < 0 || $number > $most) {
                throw new \InvalidArgumentException("'$name' takes an integer from 0 to $most.");
            }
        }
        $token = self::bytes('token', $n['token']);
        $apnsId = self::bytes('apnsId', \str_replace('-', '', $n['apnsId']));
        if ($token === '' || !\in_array(\strlen($apnsId), [0, 16], true)) {
            throw new \InvalidArgumentException($token === '' ? "'token' is missing." : "'apnsId' takes a UUID.");
        }
        $flags = $n['expiration'] === null ? 0 : Constants::RECORD_EXPIRATION;
        $flags |= $apnsId === '' ? 0 : Constants::RECORD_APNS_ID;
        $body = $token . $n['payload'] . $n['topic'] . $n['collapseId'] . $apnsId;
        $head = [Constants::RECORD_HEADER + \strlen($body), $n['tag'], $n['expiration'] ?? 0, $flags, $n['priority'],
            $n['pushType'], \strlen($token), \strlen($n['payload']), \strlen($n['topic']), \strlen($n['collapseId'])];
        return \pack('VPVCCCCvCC', ...$head) . $body;
    }

    public static function bytes(string $name, string $hex): string
    {
        $bytes = \strlen($hex) % 2 === 0 ? @\hex2bin($hex) : false;
        if ($bytes === false) {
            throw new \InvalidArgumentException("'$name' takes hexadecimal digits, two for a byte.");
        }
        return $bytes;
    }
}
