<?php
// Loads the classes of ApnsPHP 1.0 on Ferry when a program names them.

// Composer has loaded Ferry already, from another folder.
if (!interface_exists('Ferry\\Constants', false)) {
    require_once dirname(__DIR__) . '/Ferry.php';
}

function ApnsPHP_Autoload($sClassName)
{
    $file = __DIR__ . '/' . str_replace('_', '/', substr($sClassName, 8)) . '.php';
    if (strncmp($sClassName, 'ApnsPHP_', 8) === 0 && is_file($file)) {
        require_once $file;
    }
}

spl_autoload_register('ApnsPHP_Autoload');
