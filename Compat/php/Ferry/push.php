<?php

namespace Ferry;

/**
 * Sends one payload to a device, or to many.
 *
 * Connections stay open for the next call with the same options.
 *
 * @param string|string[] $tokens hexadecimal.
 * @param array|string $payload what becomes JSON, or JSON.
 * @param array $options those of the provider, as Docs/begin/c.md has them, and 'collapseId', 'expiration', 'priority' and
 *   'pushType' ('alert', …, or PUSH_…) of the notification. What is not given comes from the environment: FERRY_P8,
 *   FERRY_KEY_ID, FERRY_TEAM_ID, FERRY_TOPIC and so on.
 * @return Answer|Answer[] in the order, and with the keys, of the tokens. A token that cannot be one is an answer.
 * @throws Exception for options, and \InvalidArgumentException for a notification, that cannot be used: nothing was sent.
 */
function push($tokens, $payload, array $options = [])
{
    $answers = Pushing::answers((array) $tokens, $payload, $options);
    return \is_array($tokens) ? $answers : $answers[0];
}

/** @internal */
final class Pushing
{
    /** How many seconds after its submission a notification may still be written, unless the options say so. */
    private const DEADLINE = 30;
    /** How many seconds beyond the deadline the last answers may take. */
    private const LAST = 15;
    private const FIELDS = ['collapseId' => 0, 'expiration' => 0, 'priority' => 0, 'pushType' => 0];

    public static function answers(array $tokens, $payload, array $options): array
    {
        $fields = ['payload' => $payload] + \array_intersect_key($options, self::FIELDS);
        if (\is_array($payload)) {
            $fields['payload'] = \json_encode((object) $payload, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE);
        }
        if (\is_string($fields['pushType'] ?? null)) {
            $fields['pushType'] = self::pushType($fields['pushType']);
        }
        $options = self::completed(\array_diff_key($options, self::FIELDS));
        $provider = self::provider($options);
        [$words, $notifications] = [[], []];
        foreach (\array_values($tokens) as $tag => $token) {
            $digits = \is_string($token) ? \preg_replace('/[\s<>]/', '', $token) : '';
            if (\preg_match('/\A(?:[0-9a-f]{2}){1,100}\z/i', $digits)) {
                $notifications[] = ['tag' => $tag, 'token' => $digits] + $fields;
            } else {
                // 2 is BadDeviceToken.
                $words[$tag] = self::words($provider, Constants::REJECTED, Constants::ORIGIN_FERRY, 2);
            }
        }
        $words += self::outcomes($provider, $notifications, ($options['deadline'] ?? self::DEADLINE) + self::LAST);
        $late = self::words($provider, Constants::UNDELIVERED, Constants::CAUSE_DEADLINE);
        $answers = [];
        foreach (\array_keys($tokens) as $tag => $key) {
            $answers[$key] = new Answer($tokens[$key], $words[$tag] ?? $late);
        }
        $provider->free();
        return $answers;
    }

    /** Returns the outcome of each notification in words, by its tag. */
    private static function outcomes(Provider $provider, array $notifications, float $patience): array
    {
        [$words, $submitted] = [[], 0];
        $read = function () use ($provider, &$words): int {
            $outcomes = $provider->read();
            foreach ($outcomes as $outcome) {
                $words[$outcome['tag']] = $provider->words($outcome);
            }
            return \count($outcomes);
        };
        $end = \hrtime(true) + $patience * 1e9;
        while (\count($words) < \count($notifications) && \hrtime(true) < $end) {
            $taken = $provider->submit(\array_slice($notifications, $submitted, Provider::BATCH));
            $submitted += $taken;
            $provider->wait(1);
            if ($read() + $taken > 0) {
                $end = \hrtime(true) + $patience * 1e9;
            }
        }
        $provider->close(0);
        while ($read()) {
            continue;
        }
        return $words;
    }

    private static function words(Provider $provider, int $outcome, int $detail, int $reason = 0): array
    {
        return $provider->words(\compact('outcome', 'detail', 'reason') + [
            'tag' => 0, 'status' => 0, 'legacy' => 0, 'timestamp' => null, 'apnsId' => null,
        ]);
    }

    private static function provider(array $options): Provider
    {
        \ksort($options);
        try {
            return new Provider($options + ['shared' => 'push ' . \json_encode($options)]);
        } catch (Exception $error) {
            // Options that are wrong, or more shared providers than a process may have: only the former throw again.
            return new Provider($options);
        }
    }

    /** The options with those that the environment has. */
    private static function completed(array $options): array
    {
        foreach (Constants::ENVIRONMENT as $group) {
            if (!\array_intersect_key($options, $group)) {
                foreach ($group as $name => $variable) {
                    $text = (string) \getenv($variable);
                    if ($text !== '') {
                        $options[$name] = self::value($name, $text);
                    }
                }
            }
        }
        $options += ['backend' => 'http2'];
        return \in_array($options['backend'], ['auto', 'binary', 'http2'], true)
            ? $options + ['deadline' => self::DEADLINE] : $options;
    }

    /** @return string|int|bool */
    private static function value(string $name, string $text)
    {
        if ($name === 'port' && \ctype_digit($text)) {
            return (int) $text;
        }
        $truths = ['1' => true, 'true' => true, '0' => false, 'false' => false];
        return $name === 'production' ? $truths[\strtolower($text)] ?? $text : $text;
    }

    private static function pushType(string $word): int
    {
        foreach ((new \ReflectionClass(Constants::class))->getConstants() as $name => $number) {
            if (\strtolower(\str_replace('_', '', $name)) === "push$word") {
                return $number;
            }
        }
        throw new \InvalidArgumentException("'pushType' is no push type, such as 'alert' or 'background'.");
    }
}
