<?php
// A client of the binary protocol that knows nothing of Ferry, as client.py has it: client.php PORT IDENTITY TOKENS.

const SILENCE = 3; // seconds without an error response after which everything counts as delivered
const PAYLOAD = '{"aps":{"alert":"Hello"}}';

/** Sends from the given number on. Returns the number that was refused, or null. */
function send(int $port, string $identity, array $tokens, int $first): ?int
{
    $context = stream_context_create(['ssl' => [
        'cafile' => "$identity/ca.pem", 'local_cert' => "$identity/client-combined.pem", 'peer_name' => 'localhost',
    ]]);
    $connection = stream_socket_client("ssl://localhost:$port", $code, $text, 30, STREAM_CLIENT_CONNECT, $context);
    for ($number = $first; $number < count($tokens); $number++) {
        $token = hex2bin($tokens[$number]);
        $frame = pack('CNNn', 1, $number, 0, strlen($token)) . $token . pack('n', strlen(PAYLOAD)) . PAYLOAD;
        // The gateway may have closed, and its error response is there to read.
        if (@fwrite($connection, $frame) !== strlen($frame)) {
            break;
        }
    }
    stream_set_timeout($connection, SILENCE);
    $response = fread($connection, 6);
    if (stream_get_meta_data($connection)['timed_out']) {
        return null;
    }
    if (strlen($response) !== 6 || $response[0] !== "\x08") {
        fwrite(STDERR, 'This is no error response: ' . bin2hex($response) . "\n");
        exit(1);
    }
    return unpack('Ccommand/Cstatus/Nnumber', $response)['number'];
}

[, $port, $identity, $file] = $argv;
$tokens = file($file, FILE_IGNORE_NEW_LINES);
for ($first = 0; $first < count($tokens); $first = $refused + 1) {
    $refused = send((int) $port, $identity, $tokens, $first);
    if ($refused === null) {
        break;
    }
    echo $tokens[$refused], "\n";
}
