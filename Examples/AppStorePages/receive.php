<?php
// Receives App Store notifications that `ferry appstore serve --forward` sends: plain JSON, with a signature of your secret.
// Run it for a try: APPSTORE_SECRET=$(cat secret.txt) php -S localhost:8080 receive.php

$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$time = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';

// The secret is whsec_ and Base64. Without one, everybody could sign. During a change of secrets the first line is the new one.
$secret = strtok((string) getenv('APPSTORE_SECRET'), "\n");
$key = $secret !== false && strpos($secret, 'whsec_') === 0 ? base64_decode(trim(substr($secret, 6)), true) : false;
if ($key === false || strlen($key) < 24) {
    error_log('APPSTORE_SECRET holds no secret: whsec_ and Base64.');
    http_response_code(500);
    exit;
}

// An old request is refused, so that nobody can send it again later.
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
$isSigned = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
    $isSigned = hash_equals($expected, $signature) || $isSigned;
}
if (!$isSigned || abs(time() - (int) $time) > 300) {
    error_log('Refused: the signature is not that of APPSTORE_SECRET, or it is old.');
    http_response_code(403);
    exit;
}

$notification = json_decode($body, true);
$transaction = $notification['data']['transactionInfo'] ?? [];

// Here your application stores what it needs, with $id as the key: a notification may come twice.
error_log("$id {$notification['notificationType']} " . ($transaction['originalTransactionId'] ?? ''));
http_response_code(204);
