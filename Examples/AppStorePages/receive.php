<?php
// Receives App Store notifications that `ferry appstore serve --forward` sends: plain JSON, with a signature of your secret.
// Run it for a try: APPSTORE_SECRET=$(cat secret.txt) php -S localhost:8080 receive.php

$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$time = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';

// The secret is whsec_ and Base64. An old request is refused, so that nobody can send it again later.
$key = base64_decode(substr(trim(getenv('APPSTORE_SECRET')), strlen('whsec_')));
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
$isSigned = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
    $isSigned = hash_equals($expected, $signature) || $isSigned;
}
if (!$isSigned || abs(time() - (int) $time) > 300) {
    http_response_code(403);
    exit;
}

$notification = json_decode($body, true);
$transaction = $notification['data']['transactionInfo'] ?? [];

// Here your application stores what it needs, with $id as the key: a notification may come twice.
error_log("$id {$notification['notificationType']} " . ($transaction['originalTransactionId'] ?? ''));
http_response_code(204);
