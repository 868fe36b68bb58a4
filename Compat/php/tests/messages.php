<?php
// The payloads of ApnsPHP's messages.

function payload(ApnsPHP_Message $message): string
{
    return $message->getPayload();
}

test('A message has the payload of ApnsPHP', function () {
    $message = new ApnsPHP_Message(token(1));
    equal('{"aps":{}}', payload($message));
    $message->setBadge(3);
    $message->setText('Hello APNs-enabled device! é');
    $message->setSound();
    $message->setContentAvailable(true);
    $message->setMutableContent();
    $message->setCategory('c');
    $message->setThreadID('t');
    $message->setCustomProperty('acme2', array('bang', 'whiz'));
    $message->setCustomProperty(' acme3 ', array('a' => 1));
    equal('{"aps":{"alert":"Hello APNs-enabled device! é","badge":3,"sound":"default","content-available":1,'
        . '"mutable-content":1,"category":"c","thread-id":"t"},"acme2":["bang","whiz"],"acme3":{"a":1}}', payload($message));
    equal(payload($message), (string) $message);
    $message->setTitle('T');
    equal(array('title' => 'T', 'body' => 'Hello APNs-enabled device! é'), json_decode(payload($message), true)['aps']['alert']);
    equal(array('acme2', 'acme3'), $message->getCustomPropertyNames());
    equal(array('acme2', array('bang', 'whiz')), array($message->getCustomPropertyName(), $message->getCustomPropertyValue()));
    equal(array('a' => 1), $message->getCustomProperty('acme3'));
    equal(array(3, 'default', 'c', 't', true, true, 604800, null), array(
        $message->getBadge(), $message->getSound(), $message->getCategory(), $message->getThreadID(),
        $message->getContentAvailable(), $message->getMutableContent(), $message->getExpiry(), $message->getCustomIdentifier(),
    ));
});

test('A custom message and one for Safari have their payloads', function () {
    $message = new ApnsPHP_Message_Custom(token(1));
    $message->setText('replaced by the key');
    $message->setActionLocKey('Show me!');
    $message->setLocKey('Hello %1$@, you have %2$@ new messages!');
    $message->setLocArgs(array('Steve', 5));
    $message->setLaunchImage('DefaultAlert.png');
    $message->setTitle('T');
    $message->setSubTitle('S');
    equal(array('aps' => array('alert' => array(
        'loc-key' => 'Hello %1$@, you have %2$@ new messages!', 'action-loc-key' => 'Show me!', 'loc-args' => array('Steve', 5),
        'launch-image' => 'DefaultAlert.png', 'title' => 'T', 'subtitle' => 'S',
    ))), json_decode(payload($message), true));
    $message = new ApnsPHP_Message_Custom(token(1));
    $message->setText('x');
    $message->setActionLocKey();
    equal('{"aps":{"alert":{"body":"x","action-loc-key":null}}}', payload($message));

    $message = new ApnsPHP_Message_Safari(token(1));
    $message->setTitle('Flight A998 Now Boarding');
    $message->setText('Boarding has begun.');
    $message->setAction('View');
    $message->setUrlArgs(array('boarding', 'A998'));
    $message->setBadge(3);
    equal('{"aps":{"alert":{"title":"Flight A998 Now Boarding","body":"Boarding has begun.","action":"View"},'
        . '"url-args":["boarding","A998"]}}', payload($message));
});

test('A text that is too long is cut between two characters', function () {
    foreach (array('x', 'é', '€', "\u{1F600}") as $character) {
        $message = new ApnsPHP_Message(token(1));
        $message->setText(str_repeat($character, 3000));
        $message->setSound();
        $json = payload($message);
        holds(strlen($json) <= 2048 && strlen($json) > 2000, 'the length ' . strlen($json));
        $text = json_decode($json, true)['aps']['alert'];
        equal(str_repeat($character, intdiv(strlen($text), strlen($character))), $text);
        equal($text, $message->getText());
    }
    $message->setText('x');
    $message->setCustomProperty('p', str_repeat('y', 2100));
    raises(ApnsPHP_Message_Exception::class, 'too long', array($message, 'getPayload'));
    equal('', (string) $message);
    $message = new ApnsPHP_Message(token(1));
    $message->setText(str_repeat('x', 3000));
    $message->setAutoAdjustLongPayload(false);
    raises(ApnsPHP_Message_Exception::class, 'too long', array($message, 'getPayload'));
});

test('Wrong values raise what ApnsPHP raised', function () {
    $message = new ApnsPHP_Message();
    $calls = array(
        array('addRecipient', '00ff', 'token'), array('addRecipient', token(1) . "\n", 'token'),
        array('addRecipient', token(1) . 'f', 'token'), array('addRecipient', str_repeat('a', 202), 'token'),
        array('getRecipient', 0, 'recipient'), array('setBadge', '3', 'badge'), array('setContentAvailable', 1, 'content'),
        array('setMutableContent', 1, 'mutable'), array('setCustomProperty', ' aps', 'aps'), array('getCustomProperty', 'x', 'x'),
        array('setExpiry', '30', 'seconds'),
    );
    foreach ($calls as list($method, $value, $text)) {
        raises(ApnsPHP_Message_Exception::class, $text, function () use ($message, $method, $value) {
            $method === 'setCustomProperty' ? $message->$method($value, 1) : $message->$method($value);
        });
    }
    $message->addRecipient(strtoupper(token(10)));
    $message->addRecipient(str_repeat('ab', 100));
    equal(2, $message->getRecipientsNumber());
    equal(array(strtoupper(token(10)), str_repeat('ab', 100)), $message->getRecipients());
    $message->setText("\xff");
    raises(ApnsPHP_Message_Exception::class, 'JSON', array($message, 'getPayload'));
    equal(null, (new ApnsPHP_Message())->getCustomPropertyName());
    equal(array(), (new ApnsPHP_Message())->getCustomPropertyNames());
});
