<?php
// Loads the module Ferry; README.md documents it. Written for old versions of PHP, too, so that they can say what is missing.

namespace Ferry;

/** What libferry refuses. The message says what to do; the code is one of Constants::E…, or 0. */
class Exception extends \RuntimeException
{
}

if (PHP_VERSION_ID < 70400) {
    throw new Exception('Ferry needs PHP 7.4 or later: this is PHP ' . PHP_VERSION . '.');
}
if (!extension_loaded('FFI')) {
    throw new Exception('Ferry needs the extension FFI of PHP: install it, or build PHP --with-ffi.');
}
if (PHP_INT_SIZE !== 8) {
    throw new Exception('Ferry needs PHP for 64 bits.');
}

require_once __DIR__ . '/Ferry/Constants.php';
require_once __DIR__ . '/Ferry/Library.php';
require_once __DIR__ . '/Ferry/Record.php';
require_once __DIR__ . '/Ferry/Provider.php';
require_once __DIR__ . '/Ferry/Feedback.php';
require_once __DIR__ . '/Ferry/Answer.php';
require_once __DIR__ . '/Ferry/push.php';
