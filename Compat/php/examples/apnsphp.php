<?php
/*
 * Sends a message to each device token of a file, as a program for ApnsPHP 1.0 does, and prints the ones that were refused.
 * With the argument "feedback" it prints the devices that are gone.
 *
 *   CERT=push.pem TOKENS=tokens.txt php -d include_path=Compat/php Compat/php/examples/apnsphp.php [feedback]
 */

date_default_timezone_set('UTC');
error_reporting(-1);

require_once 'ApnsPHP/Autoload.php';

/** The standard logger writes to standard output, and this program's own lines go there. */
class ErrorLogger implements ApnsPHP_Log_Interface
{
    public function log($sMessage)
    {
        fwrite(STDERR, $sMessage . "\n");
    }
}

if (isset($argv[1]) && $argv[1] === 'feedback') {
    $feedback = new ApnsPHP_Feedback(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, getenv('CERT'));
    $feedback->setLogger(new ErrorLogger());
    $feedback->connect();
    foreach ($feedback->receive() as $aTuple) {
        echo json_encode(array('token' => $aTuple['deviceToken'], 'time' => $aTuple['timestamp'])), "\n";
    }
    $feedback->disconnect();
    exit(0);
}

$push = new ApnsPHP_Push(ApnsPHP_Abstract::ENVIRONMENT_PRODUCTION, getenv('CERT'));
$push->setLogger(new ErrorLogger());
$push->connect();

foreach (file(getenv('TOKENS'), FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES) as $sToken) {
    $message = new ApnsPHP_Message($sToken);
    $message->setCustomIdentifier($sToken);
    $message->setText('Hello');
    $message->setExpiry(3600);
    $push->add($message);
}

$push->send();
$push->disconnect();

foreach ($push->getErrors() as $aError) {
    $aLast = end($aError['ERRORS']);
    echo json_encode(array(
        'token' => $aError['MESSAGE']->getCustomIdentifier(),
        'status' => $aLast['statusCode'],
    )), "\n";
}
