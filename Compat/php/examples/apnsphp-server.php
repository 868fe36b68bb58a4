<?php
/*
 * The same as apnsphp.php, with the server of ApnsPHP 1.0. It runs until a signal, as a server does: this program sends the
 * signal to itself when it has given all of its messages to the server.
 *
 *   CERT=push.pem TOKENS=tokens.txt php -d include_path=Compat/php Compat/php/examples/apnsphp-server.php
 */

date_default_timezone_set('UTC');
error_reporting(-1);

require_once 'ApnsPHP/Autoload.php';

function printErrors(ApnsPHP_Push_Server $server)
{
    foreach ($server->getErrors() as $aError) {
        $aLast = end($aError['ERRORS']);
        echo json_encode(array(
            'token' => $aError['MESSAGE']->getCustomIdentifier(),
            'status' => $aLast['statusCode'],
        )), "\n";
    }
}

$server = new ApnsPHP_Push_Server(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, getenv('CERT'));
$server->setLogger(new ApnsPHP_Log_Error());
$server->setProcesses(2);
$server->start();

$aTokens = file(getenv('TOKENS'), FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES);
while ($server->run()) {
    printErrors($server);
    $aBatch = array_splice($aTokens, 0, 100);
    foreach ($aBatch as $sToken) {
        $message = new ApnsPHP_Message($sToken);
        $message->setCustomIdentifier($sToken);
        $message->setText('Hello');
        $server->add($message);
    }
    if (!$aBatch) {
        posix_kill(getmypid(), SIGTERM);
    }
    usleep(10000);
}
printErrors($server);
