<?php
// php push.php DSN TOKEN: adds a push to the queue, and waits for its outcome.
$db = new PDO($argv[1], options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$key = 'php ' . bin2hex(random_bytes(8));
$push = $db->prepare("insert into ferry.push (client, key, token, payload) values ('shop', ?, ?, ?)");
$push->execute([$key, $argv[2], json_encode(['aps' => ['alert' => 'Hello from PHP']])]);

$outcome = $db->prepare("select word, status, reason from ferry.outcome where client = 'shop' and key = ?");
do {
    usleep(100_000);
    $outcome->execute([$key]);
    $row = $outcome->fetch(PDO::FETCH_ASSOC);
} while (!$row);
echo json_encode($row), "\n";
