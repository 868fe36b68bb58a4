<?php

namespace Ferry;

/**
 * Makes bytes of notifications. ferry.h has the layout.
 *
 * @internal
 */
final class Record
{
    /** How many bytes a string may have, and how great an integer may be. */
    private const STRINGS = ['token' => 200, 'payload' => 65_535, 'topic' => 255, 'collapseId' => 255, 'apnsId' => 36];
    private const INTEGERS = ['tag' => \PHP_INT_MAX, 'expiration' => 0xffffffff, 'priority' => 255, 'pushType' => 255];

    /** @throws \InvalidArgumentException if the notification has no form of bytes. */
    public static function pack(array $n): string
    {
        if (\is_array($n['payload'] ?? null)) {
            $n['payload'] = \json_encode($n['payload'], \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE);
        }
        foreach ($n as $name => $value) {
            if (isset(self::STRINGS[$name])) {
                if (!\is_string($value) || \strlen($value) > self::STRINGS[$name]) {
                    throw new \InvalidArgumentException("'$name' takes a string of at most " . self::STRINGS[$name] . ' bytes.');
                }
            } elseif (!isset(self::INTEGERS[$name])) {
                throw new \InvalidArgumentException("A notification has no '$name'.");
            } elseif (!\is_int($value) || $value < 0 || $value > self::INTEGERS[$name]) {
                throw new \InvalidArgumentException("'$name' takes an integer from 0 to " . self::INTEGERS[$name] . '.');
            }
        }
        $token = self::bytes('token', $n['token'] ?? '');
        $payload = $n['payload'] ?? '';
        $topic = $n['topic'] ?? '';
        $collapseId = $n['collapseId'] ?? '';
        $apnsId = isset($n['apnsId']) ? self::bytes('apnsId', \str_replace('-', '', $n['apnsId'])) : '';
        if ($token === '' || !\in_array(\strlen($apnsId), [0, 16], true)) {
            throw new \InvalidArgumentException($token === '' ? "'token' is missing." : "'apnsId' takes a UUID.");
        }
        $flags = isset($n['expiration']) ? Constants::RECORD_EXPIRATION : 0;
        $flags |= $apnsId === '' ? 0 : Constants::RECORD_APNS_ID;
        $body = $token . $payload . $topic . $collapseId . $apnsId;
        $length = Constants::RECORD_HEADER + \strlen($body);
        return \pack('VPVC', $length, $n['tag'] ?? 0, $n['expiration'] ?? 0, $flags)
            . \pack('CCC', $n['priority'] ?? 0, $n['pushType'] ?? 0, \strlen($token))
            . \pack('vCC', \strlen($payload), \strlen($topic), \strlen($collapseId)) . $body;
    }

    /** The bytes of hexadecimal digits. */
    public static function bytes(string $name, string $hex): string
    {
        $bytes = \strlen($hex) % 2 === 0 ? @\hex2bin($hex) : false;
        if ($bytes === false) {
            throw new \InvalidArgumentException("'$name' takes hexadecimal digits, two for each byte.");
        }
        return $bytes;
    }
}
