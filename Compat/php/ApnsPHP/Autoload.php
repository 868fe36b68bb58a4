<?php
// Loads the classes of ApnsPHP 1.0 on Ferry when a program names them.

require_once dirname(__DIR__) . '/Ferry.php';

function ApnsPHP_Autoload($sClassName)
{
    $file = dirname(__DIR__) . '/' . str_replace('_', '/', $sClassName) . '.php';
    if (strncmp($sClassName, 'ApnsPHP_', 8) === 0 && is_file($file)) {
        require_once $file;
    }
}

spl_autoload_register('ApnsPHP_Autoload');
