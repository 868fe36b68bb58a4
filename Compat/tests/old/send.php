<?php
// Sends one notification in one call: send.php TOKEN OPTIONS. OPTIONS is JSON.
require 'vendor/autoload.php';

echo Ferry\push($argv[1], ['aps' => ['alert' => 'Hello']], json_decode($argv[2], true)), "\n";
