<?php
/*
 * Sends a notification to each device token (hexadecimal) on standard input, and prints a line for each outcome.
 *
 *   printf '00ff\nbad0\n' | php Compat/php/examples/ferry.php '{"backend":"echo"}'
 */

require __DIR__ . '/../Ferry.php';

use Ferry\Provider;

$words = [
    Provider::ACCEPTED => 'accepted', Provider::REJECTED => 'rejected', Provider::EXPIRED => 'expired',
    Provider::UNDELIVERED => 'not delivered', Provider::UNCERTAIN => 'uncertain',
];
$printOutcomes = function (Provider $provider) use ($words) {
    while ($outcomes = $provider->read()) {
        foreach ($outcomes as $outcome) {
            echo rtrim("{$outcome['tag']} {$words[$outcome['outcome']]} {$outcome['reason']}"), "\n";
        }
    }
};

$provider = new Provider(json_decode($argv[1], true));
$tag = 0;
while (($token = fgets(STDIN)) !== false) {
    $notification = ['tag' => $tag++, 'token' => trim($token), 'payload' => ['aps' => ['alert' => 'Hello']]];
    // Without room it waits, as a full socket would.
    while ($provider->submit([$notification]) === 0) {
        $provider->wait(1);
        $printOutcomes($provider);
    }
}
$provider->close(60);
$printOutcomes($provider);
