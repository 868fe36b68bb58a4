<?php
// One process with two OpenSSLs, as both.py has it. HTTPS is by streams, and by curl.
require 'vendor/autoload.php';

$plan = json_decode($argv[1], true);
function failed(string $text)
{
    fwrite(STDERR, "$text\n");
    exit(1);
}
$https = function () use ($plan) {
    $context = stream_context_create(['ssl' => ['cafile' => $plan['ca']]]);
    $curl = curl_init($plan['url']);
    curl_setopt_array($curl, [CURLOPT_CAINFO => $plan['ca'], CURLOPT_RETURNTRANSFER => true]);
    foreach ([file_get_contents($plan['url'], false, $context), curl_exec($curl)] as $body) {
        if ($body !== "hello\n") {
            failed('HTTPS brought something else. ' . curl_error($curl));
        }
    }
};
$push = function () use ($plan) {
    foreach (Ferry\push($plan['tokens'], ['aps' => []], $plan['options']) as $answer) {
        $answer->accepted || failed("$answer");
    }
};

for ($turn = 0; $turn < 2; $turn++) {
    foreach ($plan['first'] === 'https' ? [$https, $push] : [$push, $https] as $step) {
        $step();
    }
}
$child = pcntl_fork();
if ($child === 0) {
    $https();
    exit(0);
}
pcntl_waitpid($child, $status);
$status === 0 || failed('The child failed.');
$provider = new Ferry\Provider($plan['options']);
$batch = [];
foreach ($plan['last'] as $tag => $token) {
    $batch[] = ['tag' => $tag, 'token' => $token, 'payload' => ['aps' => []]];
}
$provider->submit($batch) === count($batch) || failed('libferry took less than all.');
exit(7);
